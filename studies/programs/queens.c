/* Counts the ways to place n queens, and solves the tower of Hanoi: recursion in one and two branches. */
#include <stdio.h>
#include <stdlib.h>

static int columns[16], falling[32], rising[32];

static int place(int row, int n) {
    if (row == n)
        return 1;
    int ways = 0;
    for (int c = 0; c < n; c++) {
        if (columns[c] || falling[row + c] || rising[row - c + n])
            continue;
        columns[c] = falling[row + c] = rising[row - c + n] = 1;
        ways += place(row + 1, n);
        columns[c] = falling[row + c] = rising[row - c + n] = 0;
    }
    return ways;
}

struct tower {
    int height;
    int disks[24];
};

static long moves;

static void carry(struct tower *from, struct tower *to, struct tower *spare, int n) {
    if (n == 0)
        return;
    carry(from, spare, to, n - 1);
    to->disks[to->height++] = from->disks[--from->height];
    moves++;
    carry(spare, to, from, n - 1);
}

static int even(int n);
static int odd(int n) { return n == 0 ? 0 : even(n - 1); }
static int even(int n) { return n == 0 ? 1 : odd(n - 1); }

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 6;
    struct tower towers[3] = {{0}};
    for (int i = n; i > 0; i--)
        towers[0].disks[towers[0].height++] = i;
    carry(&towers[0], &towers[2], &towers[1], n);
    printf("%d queens: %d ways\n", n, place(0, n));
    printf("%d disks: %ld moves, %d on the last tower\n", n, moves, towers[2].height);
    printf("%d is %s\n", n, even(n) ? "even" : "odd");
    return 0;
}

/* Transform a signal of 4096 points and back, in several rounds. */
#include "input.h"
#include <kiss_fft.h>

enum { POINTS = 4096 };
static kiss_fft_cpx signal[POINTS], spectrum[POINTS];

int main(void) {
    kiss_fft_cfg forth = kiss_fft_alloc(POINTS, 0, 0, 0), back = kiss_fft_alloc(POINTS, 1, 0, 0);
    for (int i = 0; i < POINTS; i++)
        signal[i].r = (float)(i * 7919 % 1000) / 1000;
    for (int round = 0; round < 8; round++) {
        kiss_fft(forth, signal, spectrum);
        kiss_fft(back, spectrum, signal);
        for (int i = 0; i < POINTS; i++) {
            signal[i].r /= POINTS;
            signal[i].i /= POINTS;
        }
    }
    printf("%.3f %.3f\n", signal[1].r, spectrum[0].r);
    return 0;
}

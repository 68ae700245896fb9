// Templates, virtual functions, containers and exceptions.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
    virtual std::string name() const { return "shape"; }
};

struct Rectangle : Shape {
    double width, height;
    Rectangle(double w, double h) : width(w), height(h) {
        if (w < 0 || h < 0)
            throw std::invalid_argument("a side below zero");
    }
    double area() const override { return width * height; }
    std::string name() const override { return "rectangle"; }
};

struct Disk : Shape {
    double radius;
    explicit Disk(double r) : radius(r) {}
    double area() const override {
        if (radius > 6)
            throw radius;
        return 3.25 * radius * radius;
    }
};

template <typename T, int N> class Ring {
    T items[N];
    int used = 0;

  public:
    void push(const T &item) { items[used++ % N] = item; }
    T fold(T start, T (*step)(T, T)) const {
        for (int i = 0; i < (used < N ? used : N); i++)
            start = step(start, items[i]);
        return start;
    }
};

template <typename T> static T larger(T a, T b) { return a < b ? b : a; }
template <typename T> static T plus(T a, T b) { return a + b; }

static int guarded(const Shape &shape, Ring<double, 4> &ring) {
    try {
        ring.push(shape.area());
        return 0;
    } catch (double radius) {
        ring.push(-radius);
        return 1;
    }
}

int main(int argc, char **argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 9;
    std::vector<std::unique_ptr<Shape>> shapes;
    std::map<std::string, int> names;
    Ring<double, 4> ring;
    int refused = 0, large = 0;
    for (int i = 0; i < n; i++) {
        try {
            if (i % 3 == 0)
                shapes.push_back(std::make_unique<Disk>(i));
            else
                shapes.push_back(std::make_unique<Rectangle>(i - 2, i + 1));
        } catch (const std::invalid_argument &error) {
            refused++;
        }
    }
    std::reverse(shapes.begin(), shapes.end());
    for (const auto &shape : shapes) {
        large += guarded(*shape, ring);
        names[shape->name()]++;
    }
    for (const auto &entry : names)
        std::printf("%s %d\n", entry.first.c_str(), entry.second);
    std::printf("%d refused, %d large, %.2f %.2f\n", refused, large, ring.fold(0, larger<double>),
                ring.fold(0, plus<double>));
    return 0;
}

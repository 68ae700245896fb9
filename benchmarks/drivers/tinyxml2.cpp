// Reads XML and prints it again.
#include "tinyxml2.h"
#include <cstdio>
#include <vector>

int main() {
    std::vector<char> text(1 << 20);
    text.resize(fread(text.data(), 1, text.size(), stdin));
    tinyxml2::XMLDocument document;
    if (document.Parse(text.data(), text.size()) != tinyxml2::XML_SUCCESS)
        return 1;
    document.Print();
    return 0;
}

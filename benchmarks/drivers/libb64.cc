// Encodes what it reads in base 64.
#include <b64/encode.h>
#include <iostream>

int main() {
    base64::encoder().encode(std::cin, std::cout);
    return 0;
}

// Reads XML, sums an attribute over a query, and prints the document again.
#include "pugixml.hpp"
#include <iostream>

int main() {
    pugi::xml_document document;
    if (!document.load(std::cin))
        return 1;
    double sum = 0;
    for (pugi::xpath_node each : document.select_nodes("//a[@i > 10]"))
        sum += each.node().attribute("i").as_double();
    std::cout << sum << "\n";
    document.save(std::cout);
    return 0;
}

# Builds a program of the bench, named after its folder. Needs only a C++20 compiler and the kernel headers.
CXX ?= g++
OUT ?= build
PROGRAM := $(OUT)/$(notdir $(CURDIR))
OBJECTS := $(patsubst %.cc,$(OUT)/%.o,$(wildcard *.cc))

$(PROGRAM): $(OBJECTS)
	$(CXX) -o $@ $^

$(OUT)/%.o: %.cc ../program.mk
	@mkdir -p $(@D)
	$(CXX) -std=c++20 -O2 -Wall -Wextra -Werror -MMD -MP -c $< -o $@

-include $(OBJECTS:.o=.d)

# A program of the bench, named as its folder; nothing but a C++20 compiler and the kernel's headers is needed.
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

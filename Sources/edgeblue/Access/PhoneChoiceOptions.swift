import ArgumentParser

/// The options that decide which phones a central sends prompts to.
struct PhoneChoiceOptions: ParsableArguments {
  @OptionGroup var access: AccessOptions<Phones>
  @OptionGroup var bonds: BondOptions
}

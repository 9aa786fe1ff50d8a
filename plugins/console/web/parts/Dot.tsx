export type Tone = 'good' | 'warn' | 'bad'

/** A colored dot before a text. The dot adds no information. */
export const Dot = ({ tone }: { readonly tone: Tone | undefined }) => (
  <span className="dot" data-tone={tone} aria-hidden="true" />
)

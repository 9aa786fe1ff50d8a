import { text } from '../../text/text.ts'

/** Names factors of a sign-in; those of plugins by their id. */
export const factorsText = (factors: readonly string[]): string =>
  factors.map(name => (text.factors as Readonly<Record<string, string>>)[name] ?? name).join(', ')

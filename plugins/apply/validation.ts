// Judges the entries of a file as the server would judge their requests, before anything is changed.
import type { DocumentContext, DocumentEntry, DocumentKind } from '../rules/exports.ts'
import { named } from './named.ts'

/** An error's code exits as that of any refused body. */
const codes = { get: (code: string) => ({ code, http: 400, exit: 3 }) }

/** Throws the first error in the server's words, with its place in the file: `rules[2]: /bandwith is unknown here`. */
export async function validate(
  { name, entry: schemaOf }: DocumentKind,
  entries: readonly DocumentEntry[],
  { filled }: DocumentContext
): Promise<void> {
  if (!schemaOf || entries.length === 0) return
  const [{ bodyRefusal }, schema] = await Promise.all([
    import('../http/exports.ts'), // with the library that validates, which other commands do without
    schemaOf(filled)
  ])
  for (const [at, entry] of entries.entries()) {
    const error = bodyRefusal(schema, entry, codes)
    if (error) throw named(`${name}[${at}]`, error)
  }
}

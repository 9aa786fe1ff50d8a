import { Fault } from '../../kernel/base/errors.ts'
import type { Api } from '../../kernel/cli/command.ts'
import type { Document } from './document.ts'

const chunkBytes = 2 ** 18 // per request; the server accepts 1 MiB

/** Lets the server validate the document. Throws the first error, with its place in the file: `rules[2]: /bandwith is unknown here`. */
export async function validateDocument(document: Document, api: Api): Promise<void> {
  for (const [kind, entries] of Object.entries(document))
    for (let first = 0; first < entries.length; ) {
      const chunk = chunkFrom(first, entries)
      await api.send('POST', '/v1/apply-checks', { [kind]: chunk }).catch(error => {
        throw locateInFile(error, first)
      })
      first += chunk.length
    }
}

/** Returns entries starting with `first`, at least one. */
function chunkFrom<T>(first: number, entries: readonly T[]): readonly T[] {
  let bytes = 0
  const end = entries.findIndex((entry, at) => {
    if (at < first) return false
    bytes += Buffer.byteLength(JSON.stringify(entry))
    return at > first && bytes > chunkBytes
  })
  return entries.slice(first, end === -1 ? undefined : end)
}

/** Replaces the entry's index in the request, which begins with entry `first`, by its index in the file. */
function locateInFile(error: unknown, first: number): unknown {
  if (!(error instanceof Fault)) return error
  const message = error.message.replace(
    /^\/(\w+)\/(\d+)(\/\S+)?/,
    (_, kind: string, at: string, field = '') => `${kind}[${first + Number(at)}]:${field && ` ${field}`}`
  )
  return new Fault(error.errorCode, message, { cause: error })
}

// Lets the server validate a file by the schemas of its plugins before anything changes.
import { Fault } from '../../kernel/base/errors.ts'
import type { Api } from '../../kernel/cli/command.ts'
import type { Document } from './document.ts'

const chunkBytes = 2 ** 18 // of a request, which may have 1 MiB

/** Throws the first refusal, with its place in the file: `rules[2]: /bandwith is unknown here`. */
export async function validate(document: Document, api: Api): Promise<void> {
  for (const [kind, entries] of Object.entries(document))
    for (let first = 0; first < entries.length; ) {
      const chunk = chunkFrom(first, entries)
      await api.send('POST', '/v1/apply-checks', { [kind]: chunk }).catch(error => {
        throw placed(error, first)
      })
      first += chunk.length
    }
}

/** Returns entries from `first` on, at least one. */
function chunkFrom<T>(first: number, entries: readonly T[]): readonly T[] {
  let bytes = 0
  const end = entries.findIndex((entry, at) => {
    if (at < first) return false
    bytes += Buffer.byteLength(JSON.stringify(entry))
    return at > first && bytes > chunkBytes
  })
  return entries.slice(first, end === -1 ? undefined : end)
}

/** Names the entry in the file, not the one in the request, which begins with entry `first`. */
function placed(error: unknown, first: number): unknown {
  if (!(error instanceof Fault)) return error
  const message = error.message.replace(
    /^\/(\w+)\/(\d+)(\/\S+)?/,
    (_, kind: string, at: string, field = '') => `${kind}[${first + Number(at)}]:${field && ` ${field}`}`
  )
  return new Fault(error.errorCode, message, { cause: error })
}

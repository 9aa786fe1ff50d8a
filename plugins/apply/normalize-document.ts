import { Fault } from '../../kernel/base/errors.ts'
import type { DocumentContext, DocumentEntry, DocumentKind } from '../rules/command-exports.ts'
import type { Document } from './document.ts'
import { listKinds } from './document-context.ts'
import { prefixFault } from './prefix-fault.ts'

const chunkBytes = 128 * 1024 // per request; the server accepts twice as much

/**
 * Lets the server validate and normalize the entries, so that they compare equal to records. Throws the first error, with its
 * place in the file: `rules[2]: /bandwith is unknown here`.
 */
export async function normalizeDocument(document: Document, context: DocumentContext): Promise<Document> {
  const kinds = listKinds(context).filter(({ name }) => name in document)
  const resolved = kinds.map(kind => [kind.name, resolveEntries(kind, document, context)] as const)
  const lists: [string, DocumentEntry[]][] = []
  for (const [kind, entries] of resolved) lists.push([kind, await normalizeList(kind, entries, context)])
  return Object.fromEntries(lists)
}

const resolveEntries = (kind: DocumentKind, document: Document, context: DocumentContext): DocumentEntry[] =>
  (document[kind.name] ?? []).map((entry, at) => {
    try {
      return kind.resolve?.(entry, context) ?? entry
    } catch (error) {
      throw prefixFault(`${kind.name}[${at}]`, error)
    }
  })

async function normalizeList(
  kind: string,
  entries: readonly DocumentEntry[],
  { api, delivery }: DocumentContext
): Promise<DocumentEntry[]> {
  const normal: DocumentEntry[] = []
  while (normal.length < entries.length) {
    const first = normal.length
    const chunk = chunkFrom(first, entries)
    const reply = await api
      .send<Document>('POST', '/v1/apply-checks', { ...delivery, [kind]: chunk })
      .catch(error => {
        throw locateInFile(error, first)
      })
    const returned = reply[kind] ?? []
    if (returned.length !== chunk.length)
      throw new TypeError(`the server returned ${returned.length} of ${chunk.length} entries of ${kind}`)
    normal.push(...returned)
  }
  return normal
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

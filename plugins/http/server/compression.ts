// Compresses responses with gzip for callers that accept it.
import { promisify } from 'node:util'
import { constants, gzip as gzipWith } from 'node:zlib'

const compress = promisify(gzipWith)

const minBytes = 1024 // a smaller body fits into one packet
const maxAtOnce = 2 // each occupies one of four threads; others are sent uncompressed instead of waiting

export const acceptsGzip = ({
  'accept-encoding': accepted
}: {
  readonly 'accept-encoding'?: unknown
}): boolean =>
  String(accepted)
    .split(',')
    .some(coding => /^\s*gzip\s*(;|$)/i.test(coding) && !/;\s*q=0(\.0*)?\s*$/i.test(coding))

export const isLong = (text: string): boolean =>
  text.length >= minBytes || Buffer.byteLength(text) >= minBytes

/** Returns a function that compresses a body, or returns null when too many compressions run. */
export function openCompression() {
  let running = 0
  return async (body: Buffer): Promise<Buffer | null> => {
    if (running >= maxAtOnce) return null
    running++
    try {
      return await compress(body, { level: constants.Z_BEST_SPEED })
    } finally {
      running--
    }
  }
}

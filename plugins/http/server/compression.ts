// gzip of responses for callers that accept it.
import { promisify } from 'node:util'
import { constants, gzip as gzipWith } from 'node:zlib'

const compress = promisify(gzipWith)

const minBytes = 1024 // a smaller body fits into one packet as it is
const maxAtOnce = 2 // each takes a thread of four; what is beyond is sent as it is, and nothing waits

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

/** Returns the function that compresses a body, or returns null where it would be too much work. */
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

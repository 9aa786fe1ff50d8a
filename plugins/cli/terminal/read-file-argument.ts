import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { Fault, invalidSchema, reasonOf } from '../../../kernel/base/errors.ts'

const maxBytes = 64 * 2 ** 20

/**
 * Reads the file that an argument names, or standard input for `-`, as UTF-8 without a byte order mark. Throws
 * `validation.schema` if it cannot be read, or has more than 64 MiB. Reads a stream, since standard input may not block.
 */
export async function readFileArgument(path: string): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    const stream: AsyncIterable<Buffer> = path === '-' ? process.stdin : createReadStream(path)
    for await (const chunk of stream) {
      chunks.push(chunk)
      size += chunk.length
      if (size > maxBytes) throw new TypeError(`it has more than ${maxBytes} bytes; split it`)
    }
    const bytes = Buffer.concat(chunks)
    if (isUtf8(bytes)) return new TextDecoder().decode(bytes)
    throw new TypeError('it is not UTF-8; save it in UTF-8')
  } catch (cause) {
    throw new Fault(invalidSchema, `${path} cannot be read: ${reasonOf(cause)}`, { cause })
  }
}

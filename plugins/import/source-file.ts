// Reads the files of a source as data: bounded, in UTF-8, and for includes only below the directory of the given file.
import { isUtf8 } from 'node:buffer'
import { closeSync, globSync, openSync, readSync, realpathSync } from 'node:fs'
import { basename, dirname, extname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { Fault, reasonOf } from '../../kernel/base/errors.ts'
import { toClientName } from './client-name.ts'
import { importInvalid } from './codes.ts'

const maxFileBytes = 10 * 1024 * 1024 // of a file with its includes
const maxIncludedFiles = 256
const maxIncludeDepth = 8

export type Environment = Readonly<Record<string, string | undefined>>

export interface SourceFile {
  readonly name: string // for messages and the report
  readonly text: string // with \n as the only line end
  readonly client: string // the name of the client if none is given
  readonly bytes: number
}

/** Returns the error for a file that cannot be read or parsed. `line` counts from 1. */
export const invalidFile = (file: string, line: number, why: string, cause?: unknown): Fault =>
  new Fault(importInvalid, `${file}:${line}: ${why}`, { details: { file, line }, cause })

/** Reads a file, or standard input for `-`. Throws `import_invalid`. */
export function readSourceFile(path: string): SourceFile {
  const name = path === '-' ? 'stdin' : path
  return { name, client: clientNameFor(path), ...readBounded(path, name, maxFileBytes) }
}

function readBounded(path: string, name: string, maxBytes: number): Pick<SourceFile, 'text' | 'bytes'> {
  const bytes = readBytes(path, name, maxBytes + 1)
  if (bytes.length > maxBytes)
    throw invalidFile(name, 1, `it has more than ${maxFileBytes} bytes with its includes; split it`)
  if (!isUtf8(bytes)) throw invalidFile(name, lineOfBadByte(bytes), 'it is not UTF-8; save it in UTF-8')
  return { text: new TextDecoder().decode(bytes).replaceAll('\r\n', '\n'), bytes: bytes.length }
}

function readBytes(path: string, name: string, maxBytes: number): Buffer {
  try {
    const file = path === '-' ? 0 : openSync(path, 'r')
    try {
      return readChunks(file, maxBytes)
    } finally {
      if (file !== 0) closeSync(file)
    }
  } catch (cause) {
    throw invalidFile(name, 1, `it cannot be read: ${reasonOf(cause)}`, cause)
  }
}

function readChunks(file: number, maxBytes: number): Buffer {
  const chunks: Buffer[] = []
  let rest = maxBytes
  while (rest > 0) {
    const chunk = Buffer.alloc(Math.min(rest, 64 * 1024))
    const read = readSync(file, chunk)
    if (read === 0) break
    chunks.push(chunk.subarray(0, read))
    rest -= read
  }
  return Buffer.concat(chunks)
}

function lineOfBadByte(bytes: Buffer): number {
  let line = 1
  for (let start = 0; start < bytes.length; line += 1) {
    const end = bytes.indexOf(0x0a, start)
    const stop = end < 0 ? bytes.length : end
    if (!isUtf8(bytes.subarray(start, stop))) return line
    start = stop + 1
  }
  return line
}

/** Makes a client name of a file name: `/etc/haproxy/edge.cfg` becomes `edge`. */
const clientNameFor = (path: string): string =>
  toClientName(path === '-' ? '' : basename(path, extname(path)))

export type Included = readonly SourceFile[] | 'outside' | 'not_found'

/** Follows the includes of one given file. */
export class IncludeReader {
  readonly #directory: string | null // null: standard input has none
  readonly #client: string
  #restBytes: number
  #restFiles = maxIncludedFiles

  constructor(path: string, { client, bytes }: Pick<SourceFile, 'client' | 'bytes'>) {
    this.#directory = path === '-' ? null : realpathSync(dirname(path))
    this.#client = client
    this.#restBytes = maxFileBytes - bytes
  }

  /**
   * Returns the files that a path or pattern names, in order of their names. `depth` is 0 for an include of the given file.
   * Throws `import_invalid` for a file that cannot be read, and beyond the bounds.
   */
  read(
    pattern: string,
    from: { readonly file: string; readonly line: number; readonly depth: number }
  ): Included {
    const directory = this.#directory
    if (directory === null) return 'outside'
    const given = resolve(directory, pattern)
    if (!isBelow(directory, given)) return 'outside'
    const isPattern = /[*?[]/.test(pattern)
    const found = isPattern
      ? globSync(relative(directory, given), { cwd: directory }).sort()
      : [relative(directory, given)]
    const files: SourceFile[] = []
    for (const path of found) {
      const real = realPath(join(directory, path))
      if (real === null) return 'not_found'
      if (!isBelow(directory, real)) return 'outside'
      files.push(this.#readOne(real, path, from))
    }
    return files
  }

  #readOne(
    real: string,
    name: string,
    from: { readonly file: string; readonly line: number; readonly depth: number }
  ): SourceFile {
    if (from.depth >= maxIncludeDepth)
      throw invalidFile(from.file, from.line, `includes are nested more than ${maxIncludeDepth} deep`)
    if (this.#restFiles === 0)
      throw invalidFile(from.file, from.line, `more than ${maxIncludedFiles} files are included`)
    this.#restFiles -= 1
    const read = readBounded(real, name, this.#restBytes)
    this.#restBytes -= read.bytes
    return { name, client: this.#client, ...read }
  }
}

/** Returns the path without symbolic links, or null if there is no such file. */
function realPath(path: string): string | null {
  try {
    return realpathSync(path)
  } catch (error) {
    if (
      error instanceof Error &&
      'code' in error &&
      /^(ENOENT|ENOTDIR|ELOOP|EACCES|ENAMETOOLONG)$/.test(String(error.code))
    )
      return null
    throw error
  }
}

function isBelow(directory: string, path: string): boolean {
  const way = relative(directory, path)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { requirePrivateFile } from '../../kernel/base/directory.ts'
import { Fault, reasonOf } from '../../kernel/base/errors.ts'

const maxBytes = 4_096

interface Setting {
  readonly key: string // of the configuration
  refuse(problem: string): never
}

/** Returns the first line of a file that only its owner may read. Throws Fault for any other file. */
export function readSecret(file: string, { key, refuse }: Setting): string {
  const line = readFirstLine(file, { key, refuse })
  if (line === '') return refuse(`names ${file}, but its first line is empty; write the secret there`)
  return line
}

function readFirstLine(file: string, { key, refuse }: Setting): string {
  try {
    if (!statSync(file).isFile()) return refuse(`names ${file}, which is not a file; name a file`)
    requirePrivateFile(file, `the secret of ${key}`)
    const descriptor = openSync(file, 'r')
    try {
      const bytes = Buffer.alloc(maxBytes)
      const text = bytes.toString('utf8', 0, readSync(descriptor, bytes, 0, maxBytes, 0))
      return (text.split('\n', 1)[0] ?? '').trim()
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    if (error instanceof Fault) throw error
    return refuse(`cannot be read: ${reasonOf(error)}`)
  }
}

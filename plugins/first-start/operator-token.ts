import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makePrivateDir, requirePrivateFile } from '../../kernel/base/directory.ts'
import { newSecret } from '../../kernel/identity/secret.ts'
import { checkFilesystem } from '../cli/exports.ts'

export interface OperatorToken {
  readonly file: string
  readonly value: string
}

/** Returns the operator token of the data directory; creates it at the first call. Only the owner may read the file. */
export function operatorTokenIn(dataDir: string): OperatorToken {
  const file = join(dataDir, 'operator-token')
  if (!existsSync(file)) {
    checkFilesystem(dataDir)
    makePrivateDir(dataDir, 'data_dir')
    writeFileSync(file, `${newSecret()}\n`, { mode: 0o600, flag: 'wx' })
  }
  requirePrivateFile(file, 'the operator token')
  return { file, value: readFileSync(file, 'utf8').trim() }
}

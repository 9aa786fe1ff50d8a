// The store names its certificates, so that a change of both is one commit: the files follow, here after a crash, too.
import { existsSync, renameSync, rmSync } from 'node:fs'
import { syncDir } from '../../platform/sync-file.ts'
import { nextFile, ownFile, readCertificate } from './certificate.ts'

/** What a restore writes for a file, until its store is in place. */
export const restoredFile = (file: string): string => `${file}.restored`

export interface Named {
  readonly leaf: string | null
  readonly next: string | null
}

/** Puts the certificates that the store names in their places, as far as they are there, and removes other drafts. */
export function settleFiles(dir: string, { leaf, next }: Named): void {
  const [own, staged] = [ownFile(dir), nextFile(dir)]
  const drafts = [restoredFile(own), restoredFile(staged)]
  const place = (file: string, wanted: string | null, sources: readonly string[]): void => {
    if (wanted === null || isOf(file, wanted)) return
    const source = sources.find(candidate => isOf(candidate, wanted))
    if (source !== undefined) renameSync(source, file)
  }
  place(own, leaf, [staged, ...drafts])
  place(staged, next, drafts)
  for (const file of next === null ? [staged, ...drafts] : drafts) rmSync(file, { force: true })
  syncDir(dir)
}

export const isOf = (file: string, fingerprint: string): boolean =>
  existsSync(file) && readCertificate({ certPath: file }).fingerprint === fingerprint

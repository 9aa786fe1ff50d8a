// What other plugins may know of the leaf on the disk.

import type { Certificate } from './leaf.ts'
import { leafIn } from './settings.ts'
import { presentLeaf as leafThere } from './show.ts'

export { nextFile, ownFile } from './certificate.ts'
export { type Certificate, fingerprintOf } from './leaf.ts'

/** What a server with these top-level keys would serve; null where none was made yet. */
export const presentLeaf = (dataDir: string, keys: Readonly<Record<string, unknown>>): Certificate | null =>
  leafThere(dataDir, leafIn(keys))

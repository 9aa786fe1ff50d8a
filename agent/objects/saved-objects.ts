import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { openStateDatabase } from '../state/state-database.ts'
import { openObjectStore } from './object-store.ts'

/** Reads the encoded objects of a kind in a state directory, also beside a running agent. Returns none without state. */
export function savedObjects(dir: string, kind: string): readonly Uint8Array[] {
  if (!existsSync(join(dir, 'state.db'))) return []
  const db = openStateDatabase(dir)
  try {
    const objects = openObjectStore(db).all()
    return objects.filter(object => object.kind === kind).map(({ bytes }) => bytes)
  } finally {
    db.close()
  }
}

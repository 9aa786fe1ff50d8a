import { Fault, reasonOf, storeUnavailable, storeUnusable } from '../../../kernel/base/errors.ts'
import { openStore } from '../../../kernel/store/open.ts'
import { codeOf, writeRefusal } from './watch-disk.ts'

/** Opens the store. If its file cannot be opened, throws a Fault; its exit code says whether a later start can succeed. */
export const openStoreFile: typeof openStore = (place, stores, openDisk) =>
  openStore(place, stores, openDisk).catch((error: unknown) => {
    throw typeof place === 'string' ? openFailure(error, place) : error
  })

function openFailure(cause: unknown, file: string): unknown {
  const [, code] = /^SQLITE_([A-Z]+)/.exec(cause instanceof Error ? codeOf(cause) : '') ?? []
  if (code === undefined) return cause
  if (/^(CORRUPT|NOTADB)$/.test(code))
    return new Fault(
      storeUnusable,
      `${file} is damaged: ${reasonOf(cause)}; move it away and run sluice restore with a backup`,
      { cause }
    )
  const refusal = /^(BUSY|LOCKED)$/.test(code) ? 'another program has locked it; end it' : writeRefusal(file)
  return refusal === null
    ? new Fault(storeUnusable, `${file} cannot be opened: ${reasonOf(cause)}; check its owner and its disk`, {
        cause
      })
    : new Fault(storeUnavailable, `${file} cannot be opened at present: ${refusal}`, { cause })
}

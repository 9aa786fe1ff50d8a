import { Fault, tlsInvalid } from '../../kernel/base/errors.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { countEnrolled, setStoreValue, storeValue } from './store-values.ts'

/** Refuses a start with another certificate than the one that enrolled clients pin: they could not connect. */
export async function requirePinned(store: Kernel['store'], fingerprint: string): Promise<void> {
  await store.change(async em => {
    const pinned = await storeValue('leaf', em)
    if (pinned === fingerprint) return
    const count = pinned === null ? 0 : await countEnrolled(em)
    if (count > 0)
      throw new Fault(tlsInvalid, mismatch(fingerprint, pinned, await storeValue('next_leaf', em), count))
    await setStoreValue('leaf', fingerprint, em)
  })
}

function mismatch(now: string, pinned: string | null, next: string | null, count: number): string {
  const lost = `the certificate is ${now}, and ${count} enrolled clients pin ${pinned}`
  return next === now
    ? `${lost}; it is staged: run sluice cert activate`
    : `${lost}; go back to theirs and stage this one (sluice cert reissue --rotate --from FILE), ` +
        'or give the clients up with sluice cert activate --force'
}

import { Fault, tlsInvalid } from '../../kernel/base/errors.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { enrolled, setStoreValue, storeValue } from './store-values.ts'

/** Agents that pin another leaf would be lost with this one: the server does not start with it. */
export async function refuseUnpinned(store: Kernel['store'], fingerprint: string): Promise<void> {
  await store.change(async em => {
    const pinned = await storeValue('leaf', em)
    if (pinned === fingerprint) return
    const count = pinned === null ? 0 : await enrolled(em)
    if (count > 0)
      throw new Fault(tlsInvalid, saying(fingerprint, pinned, await storeValue('next_leaf', em), count))
    await setStoreValue('leaf', fingerprint, em)
  })
}

function saying(now: string, pinned: string | null, next: string | null, count: number): string {
  const lost = `the certificate is ${now}, and ${count} enrolled clients pin ${pinned}`
  return next === now
    ? `${lost}; it waits to be activated: run sluice cert activate`
    : `${lost}; go back to theirs and stage this one (sluice cert reissue --rotate --from FILE), ` +
        'or give the clients up with sluice cert activate --force'
}

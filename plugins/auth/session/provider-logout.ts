// The end of a session at the provider that has opened it, at a logout.
import type { Kernel } from '../../../kernel/plugin.ts'
import { defineSlot } from '../../../kernel/slot.ts'

/**
 * Returns the address where the browser ends its session at a provider, which is named as in `signIn.start`. Returns
 * null to leave that session, or for a provider of another plugin. The session here has ended.
 */
export type ProviderLogout = (provider: string) => Promise<string | null>
export const providerLogoutSlot = defineSlot<ProviderLogout>('auth.provider-logout')

/** Returns the address of the first plugin that has one. */
export async function providerLogoutAddress(
  { filled }: Pick<Kernel, 'filled'>,
  provider: string
): Promise<string | null> {
  for (const { value: logOut } of filled(providerLogoutSlot)) {
    const address = await logOut(provider)
    if (address !== null) return address
  }
  return null
}

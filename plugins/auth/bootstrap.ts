import { Fault } from '../../kernel/base/errors.ts'
import { newId } from '../../kernel/base/id.ts'
import { Credential, User } from '../../kernel/identity/entities.ts'
import { hashOf, newToken } from '../../kernel/identity/secret.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { alreadyBootstrapped } from './codes.ts'
import { hasSuperadmin } from './onboarding.ts'

export const superadminId = '_superadmin'

/** Creates the first superadmin with a bearer token, which is returned once. */
export async function bootstrapSuperadmin({
  store,
  clock
}: Pick<Kernel, 'store' | 'clock'>): Promise<{ user_id: string; token: string }> {
  const token = newToken()
  const createdAt = clock.now()
  await store.change(async em => {
    if (await hasSuperadmin(em))
      throw new Fault(alreadyBootstrapped, 'a superadmin exists; reset-password gives it a new password')
    await em.insert(User, {
      id: superadminId,
      displayName: 'bootstrap superadmin',
      role: 'superadmin',
      disabled: false,
      createdAt
    })
    await em.insert(Credential, {
      id: newId(),
      userId: superadminId,
      label: 'bootstrap-superadmin',
      tokenHash: hashOf(token),
      createdAt,
      lastUsedAt: null,
      expiresAt: null,
      revokedAt: null
    })
  })
  return { user_id: superadminId, token }
}

// The setting `password_sign_in`: users with a right to sign in with a password.
import type { EntityManager } from '@mikro-orm/sql'
import { type Static, Type } from 'typebox'
import { Fault, startupInvalid } from '../../../kernel/base/errors.ts'
import type { Role } from '../../../kernel/http/principal.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { defineSlot } from '../../../kernel/slot.ts'
import { passwordSignInOff } from '../codes.ts'

export const keys = Type.Object({
  password_sign_in: Type.Union([Type.Literal('all'), Type.Literal('superadmins'), Type.Literal('off')], {
    default: 'all',
    description: 'Who may sign in with a password: all users, superadmins, or off (nobody).'
  })
})
export type Keys = Static<typeof keys>

/** Another way to sign in. Returns true if an enabled superadmin can use it. */
export type OtherSignIn = (em: EntityManager) => Promise<boolean>
export const otherSignInSlot = defineSlot<OtherSignIn>('auth.other-sign-in')

/** The policy `password_sign_in`. */
export interface PasswordPolicy {
  /** Throws `password_sign_in_off` for a user who has given the right password, and may not use it. */
  require(user: { readonly role: Role }): void
  /** Throws `startup.config_invalid` if no superadmin could sign in. */
  check(): Promise<void>
}

export function openPasswordPolicy({
  config,
  store,
  filled
}: Pick<Kernel<typeof keys>, 'config' | 'store' | 'filled'>): PasswordPolicy {
  const { password_sign_in: policy } = config
  return {
    require({ role }) {
      if (policy === 'all' || (policy === 'superadmins' && role === 'superadmin')) return
      throw new Fault(
        passwordSignInOff,
        'you cannot sign in with a password here; use another way to sign in'
      )
    },
    async check() {
      if (policy !== 'off') return
      for (const { value: isUsable } of filled(otherSignInSlot)) if (await store.read(isUsable)) return
      throw new Fault(
        startupInvalid,
        'password_sign_in is off, and no superadmin has an identity at a provider; set it to superadmins, and add an identity'
      )
    }
  }
}

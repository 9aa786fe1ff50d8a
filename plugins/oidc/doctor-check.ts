// The check `sign_in` of `sluice doctor`.
import { defineCheck } from '../cli/check-exports.ts'
import type { FindingId } from './judge-sign-in.ts'

export const signInCheck = defineCheck<FindingId>({
  name: 'sign_in',
  roles: ['server'],
  findings: {
    'sign_in.file_unusable': {
      status: 'fail',
      when: 'the file with the client secret or the authorities of a provider cannot be used',
      remedy: 'correct the file, its owner or its mode, as the message says'
    },
    'sign_in.provider_silent': {
      status: 'fail',
      when: 'a provider does not answer, or not as a provider does, so nobody signs in there',
      remedy: 'check issuer and extra_ca_file of the provider, and the network path to it'
    },
    'sign_in.secret_refused': {
      status: 'fail',
      when: 'a provider refuses the client secret in the file: it has expired or is wrong',
      remedy: 'make a new secret at the provider, and write it into client_secret_file; it works at once'
    },
    'sign_in.no_logout': {
      status: 'warn',
      when: 'logout is provider, but the provider has no address for a logout',
      remedy: 'set logout = "local" for this provider'
    },
    'sign_in.grant_client_unknown': {
      status: 'warn',
      when: 'a grant of groups names a client that does not exist, or that is not the only one of its name: no sign-in gives it',
      remedy:
        'correct client or entries in grants of the provider, or remove the grant; ids stay valid when a client is renamed'
    },
    'sign_in.locked_out': {
      status: 'fail',
      when: 'password_sign_in is off, and no superadmin has an identity at a configured provider: the next start is refused',
      remedy: 'set password_sign_in = "superadmins", and run sluice identity add USER PROVIDER SUB'
    },
    'sign_in.no_alternative': {
      status: 'warn',
      when: 'password_sign_in is superadmins, and no provider is configured: other users cannot sign in',
      remedy: 'add a provider, or set password_sign_in = "all"'
    }
  },
  run: async context => (await import('./judge-sign-in.ts')).judgeSignIn(context) // loads slowly
})

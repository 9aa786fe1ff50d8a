// Checks of users who cannot sign in, and of tokens that expire or are unused.

import { defineCheck, type Finding } from '../../cli/check-exports.ts'
import { storePlace } from '../context.ts'
import { listNames, plural } from '../finding-text.ts'

const dayMs = 86_400_000

type UsersFindingId =
  | 'users.no_administrator'
  | 'users.one_administrator'
  | 'users.no_access'
  | 'users.password_expired'

export const users = defineCheck<UsersFindingId>({
  name: 'users',
  roles: ['server'],
  findings: {
    'users.no_administrator': {
      status: 'warn',
      when: 'there is no administrator yet: anyone with the setup token from the log can become one',
      remedy: 'run sluice setup'
    },
    'users.one_administrator': {
      status: 'warn',
      when: 'only one enabled user is an administrator: a lost password can be replaced only on the server host',
      remedy: 'create a second one: sluice user create NAME --role superadmin'
    },
    'users.no_access': {
      status: 'warn',
      when: 'an enabled user has neither a password nor a valid token, and never had a session',
      remedy:
        'run sluice credential issue --user NAME or sluice user reset-password NAME; or disable or delete the user'
    },
    'users.password_expired': {
      status: 'warn',
      when: 'a temporary password expired before the user changed it',
      remedy: 'issue another one: sluice user reset-password NAME'
    }
  },
  async run({ dir, now, query, keys }) {
    if (storePlace({ dir, keys }) === null)
      return [{ ok: 'the first start prints how to create the first administrator' }]
    const enabled = await query<{ id: string; role: string; kind: string }>(
      'kernel_user',
      'select id, role, kind from kernel_user where not disabled order by id'
    )
    const findings: Finding<UsersFindingId>[] = []
    const administrators = enabled.filter(({ role, kind }) => role === 'superadmin' && kind !== 'service')
    if (administrators.length === 0 && keys['operator_token'] === undefined)
      findings.push({ id: 'users.no_administrator', message: 'there is no enabled superadmin' })
    if (administrators.length === 1 && keys['operator_token'] === undefined)
      findings.push({
        id: 'users.one_administrator',
        message: `only ${administrators[0]?.id} is a superadmin`
      })
    const withoutAccess = await query<{ id: string }>(
      'auth_password',
      `select id from kernel_user where not disabled
       and id not in (select user_id from auth_password) and id not in (select user_id from auth_session)
       and id not in (select user_id from kernel_credential
         where revoked_at is null and coalesce(expires_at, ${now} + 1) > ${now}) order by id`
    )
    if (withoutAccess.length > 0)
      findings.push({
        id: 'users.no_access',
        message: `cannot sign in: ${listNames(withoutAccess.map(({ id }) => id))}`
      })
    const expired = await query<{ id: string }>(
      'auth_password',
      `select user_id as id from auth_password join kernel_user on kernel_user.id = user_id
       where not disabled and expires_at < ${now} order by user_id`
    )
    if (expired.length > 0)
      findings.push({ id: 'users.password_expired', message: listNames(expired.map(({ id }) => id)) })
    return findings.length > 0 ? findings : [{ ok: plural(enabled.length, 'enabled user') }]
  }
})

export const credentials = defineCheck({
  name: 'credentials',
  roles: ['server'],
  findings: {
    'credentials.expire': {
      status: 'warn',
      when: 'a token expires within a week',
      remedy: 'rotate it: sluice credential rotate CREDENTIAL_ID --user NAME'
    },
    'credentials.unused': {
      status: 'warn',
      when: 'a token without expiry has not been used for 90 days',
      remedy: 'revoke tokens that nobody needs: sluice credential revoke CREDENTIAL_ID --user NAME'
    }
  },
  async run({ now, query }) {
    const fromValidTokens = `from kernel_credential where revoked_at is null and coalesce(expires_at, ${now} + 1) > ${now}`
    const rows = await query<{ id: string; user: string; expires: number | null; used: number }>(
      'kernel_credential',
      `select id, user_id as user, expires_at as expires, coalesce(last_used_at, created_at) as used
       ${fromValidTokens} order by user_id, id`
    )
    const report = (id: 'credentials.expire' | 'credentials.unused', tokens: typeof rows) =>
      tokens.length === 0
        ? []
        : [
            {
              id,
              message: listNames(
                tokens.map(row => `${row.id} of ${row.user}`),
                3
              )
            }
          ]
    const all = [
      ...report(
        'credentials.expire',
        rows.filter(({ expires }) => expires !== null && expires < now + 7 * dayMs)
      ),
      ...report(
        'credentials.unused',
        rows.filter(({ expires, used }) => expires === null && used < now - 90 * dayMs)
      )
    ]
    return all.length > 0 ? all : [{ ok: plural(rows.length, 'valid token') }]
  }
})

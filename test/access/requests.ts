// Bodies, queries and preconditions of valid requests, for the routes that need them.

import type { AccessFixture } from './access-fixture.ts'
import { password } from './callers.ts'

export interface Request {
  readonly body?: object
  readonly query?: string
  /** Prepares the request at `path`. `call` sends requests as the operator. */
  readonly before?: (path: string, call: AccessFixture['call']) => Promise<unknown>
}

const newPassword = `${password}, another`
const root = { user_id: 'root', password }
const now = Date.UTC(2026, 0, 15, 12) / 1000
const window = `?from=${now - 3600}&to=${now}`
const span = `${window}&bucket=1m`
const envelope = { concurrent_connections: 5 }
const quota = { monthly_bytes: 1_000_000 }
const quotaBefore: Request['before'] = (path, call) => call('PUT', path.replace(/\/status$/, ''), quota)
const envelopeBefore: Request['before'] = (path, call) => call('PUT', path, envelope)

const requests: Readonly<Record<string, (access: AccessFixture) => Request>> = {
  'POST /v1/auth/onboarding': () => ({
    body: { ...root, display_name: 'Root', password_confirm: password, setup_token: 'x' }
  }),
  'POST /v1/auth/login': () => ({ body: root }),
  'POST /v1/auth/step': () => ({ body: { ticket: 'x', answer: 'x' } }),
  'POST /v1/auth/device': () => ({ body: { label: 'cli' } }),
  'POST /v1/auth/device/token': () => ({ body: { device_code: 'x' } }),
  'POST /v1/auth/device/review': () => ({ body: { user_code: 'BBBB-BBBB' } }),
  'POST /v1/auth/device/approve': () => ({ body: { user_code: 'BBBB-BBBB' } }),
  'POST /v1/auth/device/deny': () => ({ body: { user_code: 'BBBB-BBBB' } }),
  'POST /v1/auth/second-factor': () => ({ body: { challenge: 'x', code: 'x' } }),
  'POST /v1/auth/reauthenticate': () => ({ body: { password } }),
  'POST /v1/auth/oidc/:id/start': () => ({ body: {} }),
  'POST /v1/auth/oidc/:id/finish': () => ({ body: { answer: 'x' } }),
  'POST /v1/auth/oidc/:id/back-channel-logout': () => ({ body: { logout_token: 'x' } }),
  'POST /v1/users/me/identities/:id/start': () => ({ body: {} }),
  'POST /v1/users/:id/identities': () => ({ body: { provider: 'none', sub: 'x' } }),
  'POST /v1/users/me/totp/confirm': () => ({ body: { code: 'x' } }),
  'POST /v1/users/me/password': () => ({
    body: { current_password: password, new_password: newPassword, new_password_confirm: newPassword }
  }),
  'POST /v1/users': access => ({ body: { user_id: `new${access.next()}`, display_name: 'New' } }),
  'PATCH /v1/users/:id': () => ({ body: { display_name: 'Other' } }),
  'POST /v1/grants': access => ({
    body: {
      user_id: 'zoe',
      client_id: '*',
      listen_port_start: 1,
      listen_port_end: 1 + access.next(), // an equal grant would be refused
      protocols: ['tcp']
    }
  }),
  'PUT /v1/clients/:client_id': () => ({ body: { address: null } }),
  'PATCH /v1/grants/:id': () => ({ body: { labels: { env: 'prod' } } }),
  'PATCH /v1/clients/:client_id': () => ({ body: { address: null } }),
  'PATCH /v1/clients/:client_id/name': () => ({ body: { client_name: 'other' } }),
  'DELETE /v1/clients/:client_id': () => ({ before: (path, call) => call('POST', `${path}/revoke`) }),
  'POST /v1/client-enrollments': () => ({ body: { name: 'new' } }),
  'POST /v1/enrollment-keys': () => ({ body: { label: 'new' } }),
  'POST /v1/rules': access => ({
    body: {
      client: access.edge,
      listen_port: 10_000 + access.next(),
      targets: [{ host: '10.0.0.1', port: 80 }]
    }
  }),
  'PUT /v1/rules/:rule_id/definition': access => ({
    body: { client: access.edge, listen_port: 9, targets: [{ host: '10.0.0.1', port: 80 }] }
  }),
  'PUT /v1/rules/:rule_id': () => ({ body: { rate_limit: null } }),
  'POST /v1/rules/bulk': () => ({ body: { ids: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NB'], action: 'pause' } }),
  'PATCH /v1/rules/:rule_id': () => ({ body: { rate_limit: null } }),
  'POST /v1/bans': access => ({ body: { source: '198.51.100.7', client: access.hidden } }),
  'PATCH /v1/links/:link_id': () => ({ body: {} }),
  'POST /v1/links/:link_id/test': () => ({ body: {} }),
  'PUT /v1/under-attack': () => ({ body: {} }),
  'PUT /v1/clients/:client_id/under-attack': () => ({ body: {} }),
  'PUT /v1/source-lists/:list_name': () => ({ body: { entries: ['192.0.2.0/24'] } }),
  'PUT /v1/settings/advertised-endpoint': () => ({ body: { advertised_endpoint: null } }),
  'PUT /v1/clients/:client_id/owners/:owner_id/rate-limit': () => ({ body: envelope }),
  'GET /v1/clients/:client_id/owners/:owner_id/rate-limit': () => ({ before: envelopeBefore }),
  'PUT /v1/users/:user_id/quotas/:client_id': () => ({ body: quota }),
  'PATCH /v1/users/:user_id/quotas/:client_id': () => ({ body: quota, before: quotaBefore }),
  'DELETE /v1/users/:user_id/quotas/:client_id': () => ({ before: quotaBefore }),
  'GET /v1/users/:user_id/quotas/:client_id/status': () => ({ before: quotaBefore }),
  'GET /v1/users/:user_id/traffic': () => ({ query: span }),
  'GET /v1/clients/:client_id/traffic': () => ({ query: span }),
  'GET /v1/rules/:rule_id/traffic': () => ({ query: span }),
  'GET /v1/traffic/global': () => ({ query: span }),
  'GET /v1/traffic/top': () => ({ query: `${window}&by=rule` }),
  'DELETE /v1/connections': () => ({ query: '?source=192.0.2.1' }),
  'POST /v1/apply-checks': () => ({ body: {} }),
  'POST /v1/explain': access => ({ body: { client: access.edge, port: 9, protocol: 'tcp' } }),
  'POST /v1/apply-leases': access => ({ before: access.endLeases })
}

export const requestOf = (route: string, access: AccessFixture): Request => requests[route]?.(access) ?? {}

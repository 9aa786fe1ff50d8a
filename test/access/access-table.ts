// The expected response to every caller on every route. A new route needs a new line:
//   METHOD PATH ACCESS ROLES OK [CALLER[.ID]=OTHERWISE ...]     and, if it needs a body or a query, a line in requests.ts.
// ROLES are the initials of the roles that may call it: user, viewer, operator, superadmin. A token of a viewer calls only
// GET, POST that reads, and DELETE.
// OK is the response to a caller with access: a status or an error code. The rules for all routes are below the table;
// a line has only exceptions. CALLER is a name or a group in callers.ts, ID is a `Kind`.
// A line with a leading `?` is for a route that may not exist yet.
import { type Caller, callers } from './callers.ts'

const table = `
  GET    /v1/auth/status                                  public      all   200
  POST   /v1/auth/onboarding                              public      all   already_bootstrapped
  POST   /v1/auth/login                                   public      all   200
  POST   /v1/auth/step                                    public      all   step_expired
  POST   /v1/auth/device                                  public      all   200
  POST   /v1/auth/device/token                            public      all   expired_token
  POST   /v1/auth/device/review                           session     uvos  device_request_not_found  bearer=session_required
  POST   /v1/auth/device/approve                          session     uvos  device_request_not_found  bearer=session_required
  POST   /v1/auth/device/deny                             session     uvos  device_request_not_found  bearer=session_required
  POST   /v1/auth/second-factor                           public      all   invalid_second_factor
  POST   /v1/auth/reauthenticate                          session     uvos  204  bearer=session_required
  POST   /v1/auth/logout                                  self        uvos  204  bearer=unauthenticated temporary=204
  GET    /v1/auth/providers                               public      all   200
  GET    /v1/auth/oidc/:id/start                          public      all   not_found
  POST   /v1/auth/oidc/:id/start                          public      all   not_found
  GET    /v1/auth/oidc/:id/callback                       public      all   not_found
  POST   /v1/auth/oidc/:id/finish                         public      all   not_found
  POST   /v1/auth/oidc/:id/back-channel-logout            public      all   not_found
  GET    /v1/openapi.json                                 public      all   200
  GET    /livez                                           public      all   200
  GET    /readyz                                          public      all   200
  GET    /install.sh                                      public      all   installer_unavailable
  GET    /install/:id                                     public      all   installer_unavailable
  GET    /v1/installer                                    user        uvos  installer_unavailable

  GET    /v1/changes                                      user        uvos  200
  GET    /v1/console/parts                                user        uvos  200
  GET    /v1/console/steps                                public      all   200
  GET    /v1/console/modules/:id                          public      all   not_found
  GET    /v1/plugins                                      viewer      -vos  200
  GET    /v1/settings/certificate                         viewer      -vos  200
  POST   /v1/settings/certificate/rotate                  superadmin  ---s  200
  GET    /v1/servers                                      viewer      -vos  200

  GET    /v1/users/me                                     user        uvos  200  temporary=200
  POST   /v1/users/me/password                            self        uvos  204  temporary=204 operator-token=user_not_found
  GET    /v1/users/me/grants                              user        uvos  200
  GET    /v1/users/me/sessions                            user        uvos  200  operator-token=user_not_found
  DELETE /v1/users/me/sessions/:id                        self        uvos  204  operator-token=user_not_found
  POST   /v1/users/me/identities/:id/start                session     uvos  not_found  bearer=session_required
  POST   /v1/users/me/totp/confirm                        session     uvos  not_found  bearer=session_required
  POST   /v1/users/me/totp/recovery-codes                 session     uvos  not_found  bearer=session_required
  DELETE /v1/users/me/totp                                session     uvos  not_found  bearer=session_required
  POST   /v1/users/me/totp                                session     uvos  201  bearer=session_required

  GET    /v1/users                                        viewer      -vos  200
  POST   /v1/users                                        superadmin  ---s  201
  GET    /v1/users/:id                                    user        uvos  200
  PATCH  /v1/users/:id                                    superadmin  ---s  200
  DELETE /v1/users/:id                                    superadmin  ---s  200  superadmin.own=cannot_remove_self
  POST   /v1/users/:id/password                           superadmin  ---s  200
  DELETE /v1/users/:id/second-factors                     superadmin  ---s  204

  GET    /v1/users/:id/identities                         user        uvos  200
  POST   /v1/users/:id/identities                         superadmin  ---s  not_found
  DELETE /v1/users/:id/identities/:identity_id            self        uvos  identity_not_found
  GET    /v1/users/:id/credentials                        user        uvos  200
  POST   /v1/users/:id/credentials                        self        uvos  201
  DELETE /v1/users/:id/credentials/:cred_id               self        uvos  204
  POST   /v1/users/:id/credentials/:cred_id/rotate        self        uvos  201

  GET    /v1/scopes                                       user        uvos  200

  GET    /v1/grants                                       viewer      -vos  200
  POST   /v1/grants                                       superadmin  ---s  201
  GET    /v1/grants/:id                                   viewer      -vos  200
  PATCH  /v1/grants/:id                                   superadmin  ---s  200
  DELETE /v1/grants/:id                                   superadmin  ---s  200

  GET    /v1/clients                                      user        uvos  200
  GET    /v1/clients/:client_id                           user        uvos  200
  PUT    /v1/clients/:client_id                           operator    --os  200
  DELETE /v1/clients/:client_id                           operator    --os  204
  PATCH  /v1/clients/:client_id                           operator    --os  200
  PATCH  /v1/clients/:client_id/name                      operator    --os  200
  POST   /v1/clients/:client_id/revoke                    operator    --os  204
  GET    /v1/clients/:client_id/health                    viewer      -vos  200
  POST   /v1/clients/:client_id/approve                   operator    --os  client_not_pending
  POST   /v1/clients/:client_id/enrollment                operator    --os  201
  GET    /v1/client-enrollments                           viewer      -vos  200
  POST   /v1/client-enrollments                           operator    --os  201
  DELETE /v1/client-enrollments/:enrollment_id            operator    --os  204
  GET    /v1/enrollment-keys                              viewer      -vos  200
  POST   /v1/enrollment-keys                              operator    --os  201
  GET    /v1/enrollment-keys/:key_id                      viewer      -vos  200
  DELETE /v1/enrollment-keys/:key_id                      operator    --os  204

  GET    /v1/bans                                         viewer      -vos  200
  POST   /v1/bans                                         operator    --os  201
  DELETE /v1/bans/:ban_id                                 operator    --os  204

  GET    /v1/under-attack                                 viewer      -vos  200
  PUT    /v1/under-attack                                 operator    --os  under_attack_unsupported_by_client
  DELETE /v1/under-attack                                 operator    --os  204
  PUT    /v1/clients/:client_id/under-attack              operator    --os  200
  DELETE /v1/clients/:client_id/under-attack              operator    --os  204

  GET    /v1/links                                        user        uvos  200
  GET    /v1/links/:link_id                               user        uvos  200
  PATCH  /v1/links/:link_id                               operator    --os  200
  POST   /v1/links/:link_id/test                          operator    --os  client_not_connected
  POST   /v1/clients/:client_id/link-key/rotate           operator    --os  client_not_connected

  GET    /v1/notifications                                user        uvos  200
  GET    /v1/notifications/channels                       viewer      -vos  200
  POST   /v1/notifications/channels/:name/test            superadmin  ---s  channel_not_found

  GET    /v1/source-lists                                 viewer      -vos  200
  GET    /v1/source-lists/:list_name                      viewer      -vos  200
  DELETE /v1/source-lists/:list_name                      operator    --os  204
  PUT    /v1/source-lists/:list_name                      operator    --os  200  seeing.missing=200 seeing.malformed=validation.sources

  GET    /v1/rules                                        user        uvos  200
  POST   /v1/rules                                        user        u-os  201  ungranted=client_not_granted stranger=client_not_granted demoted=client_not_granted
  GET    /v1/rules/:rule_id                               user        uvos  200
  PUT    /v1/rules/:rule_id                               user        u-os  200
  PUT    /v1/rules/:rule_id/definition                    user        u-os  validation.rule_immutable_field  demoted.own=client_not_granted
  PATCH  /v1/rules/:rule_id                               user        u-os  200
  POST   /v1/rules/bulk                                   user        u-os  200
  POST   /v1/rules/:rule_id/pause                         user        u-os  204
  POST   /v1/rules/:rule_id/resume                        user        u-os  204
  DELETE /v1/rules/:rule_id                               user        u-os  204
  GET    /v1/rules/:rule_id/stats                         user        uvos  200
  GET    /v1/rules/:rule_id/stats/stream                  user        uvos  200
  GET    /v1/rules/:rule_id/traffic                       user        uvos  200  ungranted.own=200
  GET    /v1/rules/:rule_id/journal                       user        uvos  200
  GET    /v1/stats/summary                                user        uvos  200

  GET    /v1/connections                                  user        uvos  200
  GET    /v1/connections/stream                           user        uvos  200
  DELETE /v1/connections                                  user        u-os  200
  DELETE /v1/connections/:id                              user        u-os  connection_not_found

  GET    /v1/clients/:client_id/owners                    viewer      -vos  200
  GET    /v1/clients/:client_id/owners/:owner_id/rate-limit user        uvos  200  plain.foreign=not_owner seeing.missing=owner_rate_limit_not_found seeing.malformed=owner_rate_limit_not_found
  PUT    /v1/clients/:client_id/owners/:owner_id/rate-limit operator    --os  200
  DELETE /v1/clients/:client_id/owners/:owner_id/rate-limit operator    --os  204  seeing.missing=204 seeing.malformed=204

  GET    /v1/users/:user_id/quotas                        user        uvos  200
  PUT    /v1/users/:user_id/quotas/:client_id             operator    --os  200
  PATCH  /v1/users/:user_id/quotas/:client_id             operator    --os  200
  DELETE /v1/users/:user_id/quotas/:client_id             operator    --os  204
  GET    /v1/users/:user_id/quotas/:client_id/status      user        uvos  200
  GET    /v1/users/:user_id/traffic                       user        uvos  200  operator-token.own=200
  GET    /v1/clients/:client_id/quotas                    viewer      -vos  200
  GET    /v1/quotas                                       viewer      -vos  200
  GET    /v1/clients/:client_id/traffic                   viewer      -vos  200
  GET    /v1/traffic/global                               viewer      -vos  200
  GET    /v1/traffic/top                                  user        uvos  200

  GET    /v1/settings/advertised-endpoint                 viewer      -vos  200
  PUT    /v1/settings/advertised-endpoint                 superadmin  ---s  200
  GET    /v1/audit                                        viewer      -vos  200
  GET    /v1/metrics                                      viewer      -vos  200

  POST   /v1/explain                                      user        uvos  200  ungranted=client_not_granted stranger=client_not_granted
  POST   /v1/apply-leases                                 user        u-os  201
  PUT    /v1/apply-leases/:lease_id                       user        u-os  200
  DELETE /v1/apply-leases/:lease_id                       user        u-os  204
  POST   /v1/apply-checks                                 user        uvos  200
  GET    /v1/apply-kinds                                  user        uvos  200
`

// The response to an id that is not the caller's own, by the path segment before the id; `.` is OK.
const ids = `
                      to a plain caller                             to a caller who sees all
  id of               another's              nobody's               another's              nobody's
  users               not_owner              not_owner              .                      user_not_found
  owners              not_owner              not_owner              .                      user_not_found
  clients             client_not_found       client_not_found       .                      client_not_found
  quotas              quota_not_found        quota_not_found        .                      client_not_found
  rules               not_owner              rule_not_found         .                      rule_not_found
  links               link_not_found         link_not_found         .                      link_not_found
  credentials         credential_not_found   credential_not_found   credential_not_found   credential_not_found
  identities          .                      .                      .                      .
  sessions            session_not_found      session_not_found      session_not_found      session_not_found
  grants              .                      .                      .                      grant_not_found
  client-enrollments  .                      .                      .                      enrollment_not_found
  enrollment-keys     .                      .                      .                      enrollment_key_not_found
  source-lists        .                      .                      .                      source_list_not_found
  channels            .                      .                      .                      channel_not_found
  bans                .                      .                      .                      ban_not_found
  apply-leases        not_found              not_found              not_found              not_found
  connections         connection_not_found   connection_not_found   connection_not_found   connection_not_found
  modules             not_found              not_found              not_found              not_found
`

// Callers that all routes refuse, except public routes and routes with an exception in their line.
const refused = `
  none=unauthenticated bad-bearer=unauthenticated expired=unauthenticated revoked=unauthenticated
  ended=unauthenticated disabled=user_disabled disabled-session=user_disabled temporary=password_change_required
`

/**
 * The owner of the ids in the path. With several ids only the last is `missing` or `malformed`. `crossed`: the caller's
 * own id, then another's. `lost`: an unknown id, then the caller's own.
 */
export type Kind = 'own' | 'foreign' | 'crossed' | 'lost' | 'missing' | 'malformed'

const kindsOfOneId: readonly Kind[] = ['own', 'foreign', 'missing', 'malformed']
const kindsOfTwoIds: readonly Kind[] = [...kindsOfOneId, 'crossed', 'lost']
export const kindsOf = (path: string): readonly Kind[] =>
  [['own' as const], kindsOfOneId, kindsOfTwoIds][segmentsOf(path).length] ?? []

const callersAndGroups = new Set(callers.flatMap(({ name, groups }) => [name, ...groups]))

/** Returns whether the key is CALLER or CALLER.ID. Any other key would silently match nobody. */
export function isKey(key: string): boolean {
  const [who = '', ...kinds] = key.split('.')
  return (
    callersAndGroups.has(who) && (kinds.length === 0 || kindsOfTwoIds.some(kind => kind === kinds.join('.')))
  )
}

export interface Row {
  readonly route: string // 'GET /v1/users/:id'
  readonly method: string
  readonly path: string
  readonly access: string
  readonly isPlanned: boolean
  readonly expect: (caller: Caller, kind: Kind) => string
}

const lines = (text: string): string[] => text.split('\n').filter(line => line.trim() !== '')
const pairs = (entries: readonly string[]): Map<string, string> =>
  new Map(entries.map(entry => entry.split('=') as [string, string]))

export const rows: readonly Row[] = lines(table).map(line => {
  const [method = '', path = '', access = '', mayCall = '', ok = '', ...special] = line
    .slice(2)
    .trim()
    .split(/ +/)
  const row = { method, path, access, mayCall, ok, special: pairs(special) }
  const unknown = [...row.special.keys()].find(key => !isKey(key))
  if (unknown !== undefined)
    throw new TypeError(`access-table.ts: ${method} ${path}: ${unknown} is not a caller`)
  const expect = (caller: Caller, kind: Kind): string => expected(row, caller, kind)
  return { route: `${method} ${path}`, method, path, access, isPlanned: line.startsWith('?'), expect }
})

const refusedCallers = pairs(refused.trim().split(/\s+/))
const verdicts = new Map(
  lines(ids)
    .slice(2)
    .map(line => {
      const [segment = '', ...cells] = line.trim().split(/ +/)
      return [segment, cells]
    })
)

interface TableLine extends Pick<Row, 'method' | 'path' | 'access'> {
  readonly mayCall: string
  readonly ok: string
  readonly special: ReadonlyMap<string, string>
}

/** Follows the order of checks: authentication, CSRF, role, then the ids of the path. */
function expected(
  { method, path, access, mayCall, ok, special }: TableLine,
  caller: Caller,
  kind: Kind
): string {
  const keys = [caller.name, ...caller.groups].flatMap(who => [`${who}.${kind}`, who])
  const exception = keys.map(key => special.get(key)).find(value => value !== undefined)
  if (access === 'public') return exception ?? ok
  const refusal = refusedCallers.get(caller.name)
  if (refusal !== undefined && !special.has(caller.name)) return refusal
  if (caller.name === 'no-csrf' && method !== 'GET') return 'csrf_origin_required'
  if (!mayCall.includes(caller.role.charAt(0))) return 'role_required'
  if (caller.name === 'viewer-token' && access === 'self' && method !== 'DELETE') return 'role_required'
  const column = access === 'self' && caller.role !== 'superadmin' ? 'plain' : columnOf(caller)
  return exception ?? verdictOf(path, caller, { kind, column }) ?? ok
}

type Column = 'plain' | 'seeing'
const columnOf = ({ role }: Caller): Column => (role === 'user' ? 'plain' : 'seeing')

interface Asked {
  readonly kind: Kind
  readonly column: Column // of the table of ids
}

/** Returns the path segment before each id. */
export const segmentsOf = (path: string): string[] =>
  [...path.matchAll(/([\w-]+)\/:/g)].map(([, segment]) => segment ?? '')

/** The first id without access decides. The owner of an envelope is checked before its client. */
function verdictOf(path: string, caller: Caller, { kind, column }: Asked): string | null {
  const segments = segmentsOf(path)
  const inOrder = [...segments.entries()].sort(
    ([, a], [, b]) => Number(b === 'owners') - Number(a === 'owners')
  )
  for (const [at, segment] of inOrder) {
    const cells = verdicts.get(segment)
    if (!cells) throw new TypeError(`access-table.ts has no line for ids of ${segment}`)
    const relation = relationOf(caller, segment, relationAt(kind, at, segments.length))
    const cell = cells[(column === 'plain' ? 0 : 2) + (relation === 'missing' ? 1 : 0)] ?? '.'
    if (relation !== 'own' && cell !== '.') return cell
  }
  return null
}

type Relation = 'own' | 'foreign' | 'missing'

/** Returns the relation of the caller to the id at position `at`. */
export function relationAt(kind: Kind, at: number, count: number): Relation {
  const isLast = at === count - 1
  if (kind === 'own') return 'own'
  if (kind === 'foreign') return at === 0 ? 'foreign' : 'own'
  if (kind === 'lost') return at === 0 ? 'missing' : 'own'
  if (!isLast) return 'own'
  return kind === 'crossed' ? 'foreign' : 'missing'
}

/** The operator is not a user. A caller without its former grant has lost the rule and cannot see the client. */
function relationOf({ name }: Caller, segment: string, relation: Relation): Relation {
  if (relation !== 'own') return relation
  if (name === 'operator-token' && segment === 'users') return 'missing'
  if (name !== 'ungranted') return 'own'
  if (segment === 'rules' || segment === 'links') return 'missing'
  return segment === 'clients' ? 'foreign' : 'own'
}

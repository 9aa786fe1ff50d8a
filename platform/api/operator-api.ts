// Made from the OpenAPI document by npm run types.

export interface Operations {
  'DELETE /v1/apply-leases/{lease_id}': {
    parts: { path: { lease_id: string } }
    reply: undefined
  }
  'DELETE /v1/bans/{ban_id}': {
    parts: { path: { ban_id: string } }
    reply: undefined
  }
  'DELETE /v1/client-enrollments/{enrollment_id}': {
    parts: { path: { enrollment_id: string } }
    reply: undefined
  }
  'DELETE /v1/clients/{client_id}': {
    parts: { path: { client_id: string } }
    reply: undefined
  }
  'DELETE /v1/clients/{client_id}/owners/{owner_id}/rate-limit': {
    parts: { path: { client_id: string; owner_id: string } }
    reply: undefined
  }
  'DELETE /v1/clients/{client_id}/under-attack': {
    parts: { path: { client_id: string } }
    reply: undefined
  }
  'DELETE /v1/connections': {
    parts: { query?: { client?: string; rule_id?: string; owner?: string; source?: string; target?: string; protocol?: 'tcp' | 'udp'; dry_run?: boolean } }
    reply: ConnectionsClosed
  }
  'DELETE /v1/connections/{connection_id}': {
    parts: { path: { connection_id: string } }
    reply: undefined
  }
  'DELETE /v1/grants/{grant_id}': {
    parts: { path: { grant_id: string } }
    reply: GrantDeleteReply
  }
  'DELETE /v1/rules/{rule_id}': {
    parts: { path: { rule_id: string }; query?: { ack_timeout_secs?: number } }
    reply: undefined
  }
  'DELETE /v1/source-lists/{list_name}': {
    parts: { path: { list_name: string } }
    reply: undefined
  }
  'DELETE /v1/under-attack': {
    reply: undefined
  }
  'DELETE /v1/users/me/sessions/{session_id}': {
    parts: { path: { session_id: string } }
    reply: undefined
  }
  'DELETE /v1/users/{user_id}': {
    parts: { path: { user_id: string } }
    reply: UserDeleteReply
  }
  'DELETE /v1/users/{user_id}/credentials/{cred_id}': {
    parts: { path: { user_id: string; cred_id: string } }
    reply: undefined
  }
  'DELETE /v1/users/{user_id}/quotas/{client_id}': {
    parts: { path: { user_id: string; client_id: string } }
    reply: undefined
  }
  'GET /v1/apply-kinds': {
    parts: { query?: { sort?: 'name' | '-name'; limit?: number; cursor?: string } }
    reply: (DocumentKind)[]
  }
  'GET /v1/audit': {
    parts: { query?: { limit?: number; outcome?: 'allow' | 'deny'; actor?: string; action?: string; request_id?: string; since?: string; until?: string; cursor?: string } }
    reply: (AuditEntry)[] | AuditPage
  }
  'GET /v1/auth/status': {
    reply: AuthStatusReply
  }
  'GET /v1/bans': {
    parts: { query?: { sort?: 'ban_id' | '-ban_id' | 'source' | '-source' | 'client_id' | '-client_id' | 'client_name' | '-client_name' | 'rule_id' | '-rule_id' | 'cause' | '-cause' | 'reason' | '-reason' | 'made_by' | '-made_by' | 'times' | '-times' | 'live' | '-live' | 'from' | '-from' | 'until' | '-until' | 'state' | '-state' | 'lifted_by' | '-lifted_by'; cause?: 'operator' | 'new_connections' | 'failed_handshakes'; live?: 'cut' | 'keep'; state?: 'in_force' | 'all'; client?: string; rule_id?: string; limit?: number; cursor?: string } }
    reply: (Ban)[]
  }
  'GET /v1/changes': {
    reply: ChangeLastReply
  }
  'GET /v1/client-enrollments': {
    parts: { query?: { sort?: 'enrollment_id' | '-enrollment_id' | 'client_id' | '-client_id' | 'client_name' | '-client_name' | 'address' | '-address' | 'created_by' | '-created_by' | 'created_at' | '-created_at' | 'expires_at' | '-expires_at'; limit?: number; cursor?: string } }
    reply: (Enrollment)[]
  }
  'GET /v1/clients': {
    parts: { query?: { sort?: 'client_id' | '-client_id' | 'client_name' | '-client_name' | 'address' | '-address' | 'state' | '-state' | 'connected' | '-connected' | 'remote_addr' | '-remote_addr' | 'connected_at' | '-connected_at' | 'last_seen_at' | '-last_seen_at' | 'agent_version' | '-agent_version' | 'enrolled_at' | '-enrolled_at' | 'revoked_at' | '-revoked_at'; state?: 'connected' | 'disconnected' | 'revoked'; connected?: boolean; selector?: string; limit?: number; cursor?: string } }
    reply: (Client)[]
  }
  'GET /v1/clients/{client_id}': {
    parts: { path: { client_id: string } }
    reply: Client
  }
  'GET /v1/clients/{client_id}/owners': {
    parts: { path: { client_id: string }; query?: { sort?: 'owner_id' | '-owner_id' | 'rule_count' | '-rule_count' | 'has_rate_limit' | '-has_rate_limit'; has_rate_limit?: boolean; limit?: number; cursor?: string } }
    reply: (Owner)[]
  }
  'GET /v1/clients/{client_id}/owners/{owner_id}/rate-limit': {
    parts: { path: { client_id: string; owner_id: string } }
    reply: OwnerRateLimit
  }
  'GET /v1/clients/{client_id}/quotas': {
    parts: { path: { client_id: string }; query?: { sort?: 'user_id' | '-user_id' | 'client_id' | '-client_id' | 'client_name' | '-client_name' | 'monthly_bytes' | '-monthly_bytes' | 'billing_anchor' | '-billing_anchor' | 'bytes_used' | '-bytes_used' | 'bytes_remaining' | '-bytes_remaining' | 'period_start' | '-period_start' | 'period_end' | '-period_end' | 'exhausted' | '-exhausted' | 'exhausted_at' | '-exhausted_at' | 'enforced' | '-enforced' | 'created_at' | '-created_at' | 'updated_at' | '-updated_at'; exhausted?: boolean; enforced?: boolean; limit?: number; cursor?: string } }
    reply: (Quota)[]
  }
  'GET /v1/clients/{client_id}/traffic': {
    parts: { path: { client_id: string }; query: { from: number; to: number; bucket?: '1m' | '1h'; user_id?: string } }
    reply: Traffic
  }
  'GET /v1/connections': {
    parts: { query?: { sort?: 'age' | 'bytes' | 'rate' | 'idle'; protocol?: 'tcp' | 'udp'; client?: string; rule_id?: string; owner?: string; source?: string; target?: string; limit?: number; cursor?: string } }
    reply: (Connection)[]
  }
  'GET /v1/connections/stream': {
    parts: { query?: { client?: string; rule_id?: string; owner?: string; source?: string; target?: string; protocol?: 'tcp' | 'udp'; sort?: 'age' | 'bytes' | 'rate' | 'idle'; limit?: number } }
    reply: undefined
    event: { event: string; data: LiveConnections }
  }
  'GET /v1/console/modules/{file}': {
    parts: { path: { file: string } }
    reply: undefined
  }
  'GET /v1/console/parts': {
    parts: { query?: { sort?: 'plugin' | '-plugin' | 'on' | '-on' | 'name' | '-name' | 'icon' | '-icon' | 'element' | '-element' | 'module' | '-module'; on?: 'page' | 'overview' | 'rule' | 'client'; limit?: number; cursor?: string } }
    reply: (ConsolePart)[]
  }
  'GET /v1/grants': {
    parts: { query?: { sort?: 'grant_id' | '-grant_id' | 'user_id' | '-user_id' | 'client_id' | '-client_id' | 'client_name' | '-client_name' | 'listen_port_start' | '-listen_port_start' | 'listen_port_end' | '-listen_port_end' | 'note' | '-note' | 'created_at' | '-created_at'; user_id?: string; selector?: string; limit?: number; cursor?: string } }
    reply: (Grant)[]
  }
  'GET /v1/grants/{grant_id}': {
    parts: { path: { grant_id: string } }
    reply: Grant
  }
  'GET /v1/installer': {
    reply: InstallerReadReply
  }
  'GET /v1/metrics': {
    reply: undefined
  }
  'GET /v1/openapi.json': {
    reply: OpenapiReadReply
  }
  'GET /v1/plugins': {
    parts: { query?: { sort?: 'name' | '-name' | 'version' | '-version' | 'description' | '-description' | 'from' | '-from' | 'kernel' | '-kernel' | 'has_agent' | '-has_agent'; from?: 'built in' | 'external'; has_agent?: boolean; limit?: number; cursor?: string } }
    reply: (Plugin)[]
  }
  'GET /v1/quotas': {
    parts: { query?: { sort?: 'user_id' | '-user_id' | 'client_id' | '-client_id' | 'client_name' | '-client_name' | 'monthly_bytes' | '-monthly_bytes' | 'billing_anchor' | '-billing_anchor' | 'bytes_used' | '-bytes_used' | 'bytes_remaining' | '-bytes_remaining' | 'period_start' | '-period_start' | 'period_end' | '-period_end' | 'exhausted' | '-exhausted' | 'exhausted_at' | '-exhausted_at' | 'enforced' | '-enforced' | 'created_at' | '-created_at' | 'updated_at' | '-updated_at'; exhausted?: boolean; enforced?: boolean; limit?: number; cursor?: string } }
    reply: (Quota)[]
  }
  'GET /v1/rules': {
    parts: { query?: { sort?: 'rule_id' | '-rule_id' | 'client_id' | '-client_id' | 'client_name' | '-client_name' | 'listen_port' | '-listen_port' | 'listen_port_end' | '-listen_port_end' | 'protocol' | '-protocol' | 'prefer_ipv6' | '-prefer_ipv6' | 'owner' | '-owner' | 'placed_by' | '-placed_by' | 'paused' | '-paused' | 'state' | '-state' | 'state_reason' | '-state_reason' | 'created_at' | '-created_at' | 'updated_at' | '-updated_at' | 'state_changed_at' | '-state_changed_at' | 'etag' | '-etag' | 'balance' | '-balance' | 'slow_connect_ms' | '-slow_connect_ms' | 'slow_start_secs' | '-slow_start_secs' | 'source_hash_ipv6_prefix' | '-source_hash_ipv6_prefix' | 'health_check_interval_secs' | '-health_check_interval_secs' | 'proxy_out' | '-proxy_out' | 'proxy_out_udp' | '-proxy_out_udp' | 'not_before' | '-not_before' | 'expires_at' | '-expires_at' | 'at_end' | '-at_end' | 'sni_pattern' | '-sni_pattern' | 'sni_fallback' | '-sni_fallback'; protocol?: 'tcp' | 'udp'; prefer_ipv6?: boolean; paused?: boolean; state?: 'pending' | 'active' | 'paused' | 'failed' | 'draining' | 'partial' | 'expired' | 'outside_schedule'; balance?: 'priority' | 'round_robin' | 'weighted' | 'least_connections' | 'source_hash' | 'random_two'; proxy_out_udp?: 'first' | 'each'; at_end?: 'keep' | 'drain' | 'cut'; sni_fallback?: boolean; client?: string; owner?: string; selector?: string; limit?: number; cursor?: string } }
    reply: (Rule)[]
  }
  'GET /v1/rules/{rule_id}': {
    parts: { path: { rule_id: string } }
    reply: Rule
  }
  'GET /v1/rules/{rule_id}/journal': {
    parts: { path: { rule_id: string }; query?: { sort?: 'ts' | '-ts' | 'kind' | '-kind' | 'cause' | '-cause' | 'request_id' | '-request_id'; since?: string; until?: string; kind?: string; limit?: number; cursor?: string } }
    reply: (JournalEntry)[]
  }
  'GET /v1/rules/{rule_id}/stats': {
    parts: { path: { rule_id: string }; query?: { per_port?: boolean; per_target?: boolean; per_client?: boolean } }
    reply: RuleStats
  }
  'GET /v1/rules/{rule_id}/stats/stream': {
    parts: { path: { rule_id: string }; query?: { per_port?: boolean; per_target?: boolean; per_client?: boolean } }
    reply: undefined
    event: { event: string; data: RuleStats | { rule_id: string } }
  }
  'GET /v1/servers': {
    reply: (Server)[]
  }
  'GET /v1/settings/advertised-endpoint': {
    reply: AdvertisedEndpoint
  }
  'GET /v1/settings/certificate': {
    reply: ControlCertificate
  }
  'GET /v1/source-lists': {
    parts: { query?: { sort?: 'name' | '-name' | 'entry_count' | '-entry_count' | 'rule_count' | '-rule_count' | 'updated_at' | '-updated_at'; limit?: number; cursor?: string } }
    reply: (SourceListRow)[]
  }
  'GET /v1/source-lists/{list_name}': {
    parts: { path: { list_name: string } }
    reply: SourceList
  }
  'GET /v1/stats/summary': {
    reply: StatsSummary
  }
  'GET /v1/traffic/global': {
    parts: { query: { from: number; to: number; bucket?: '1m' | '1h' } }
    reply: Traffic
  }
  'GET /v1/under-attack': {
    parts: { query?: { sort?: 'client_id' | '-client_id' | 'client_name' | '-client_name' | 'reason' | '-reason' | 'made_by' | '-made_by' | 'from' | '-from' | 'until' | '-until' | 'connections' | '-connections' | 'new_connections' | '-new_connections' | 'within_secs' | '-within_secs'; limit?: number; cursor?: string } }
    reply: (UnderAttack)[]
  }
  'GET /v1/users': {
    parts: { query?: { sort?: 'user_id' | '-user_id' | 'display_name' | '-display_name' | 'role' | '-role' | 'disabled' | '-disabled' | 'created_at' | '-created_at' | 'rule_count' | '-rule_count' | 'password_change_required' | '-password_change_required' | 'credential_count' | '-credential_count' | 'grant_count' | '-grant_count'; role?: 'superadmin' | 'user'; disabled?: boolean; password_change_required?: boolean; selector?: string; limit?: number; cursor?: string } }
    reply: (User)[]
  }
  'GET /v1/users/me': {
    reply: Me
  }
  'GET /v1/users/me/grants': {
    parts: { query?: { sort?: 'grant_id' | '-grant_id' | 'user_id' | '-user_id' | 'client_id' | '-client_id' | 'client_name' | '-client_name' | 'listen_port_start' | '-listen_port_start' | 'listen_port_end' | '-listen_port_end' | 'note' | '-note' | 'created_at' | '-created_at'; selector?: string; limit?: number; cursor?: string } }
    reply: (Grant)[]
  }
  'GET /v1/users/me/sessions': {
    parts: { query?: { sort?: 'session_id' | '-session_id' | 'created_at' | '-created_at' | 'last_seen_at' | '-last_seen_at' | 'expires_at' | '-expires_at' | 'remote_addr' | '-remote_addr' | 'current' | '-current'; current?: boolean; limit?: number; cursor?: string } }
    reply: (Session)[]
  }
  'GET /v1/users/{user_id}': {
    parts: { path: { user_id: string } }
    reply: User
  }
  'GET /v1/users/{user_id}/credentials': {
    parts: { path: { user_id: string }; query?: { sort?: 'credential_id' | '-credential_id' | 'user_id' | '-user_id' | 'label' | '-label' | 'created_at' | '-created_at' | 'last_used_at' | '-last_used_at' | 'expires_at' | '-expires_at' | 'revoked_at' | '-revoked_at'; limit?: number; cursor?: string } }
    reply: (Credential)[]
  }
  'GET /v1/users/{user_id}/quotas': {
    parts: { path: { user_id: string }; query?: { sort?: 'user_id' | '-user_id' | 'client_id' | '-client_id' | 'client_name' | '-client_name' | 'monthly_bytes' | '-monthly_bytes' | 'billing_anchor' | '-billing_anchor' | 'bytes_used' | '-bytes_used' | 'bytes_remaining' | '-bytes_remaining' | 'period_start' | '-period_start' | 'period_end' | '-period_end' | 'exhausted' | '-exhausted' | 'exhausted_at' | '-exhausted_at' | 'enforced' | '-enforced' | 'created_at' | '-created_at' | 'updated_at' | '-updated_at'; exhausted?: boolean; enforced?: boolean; limit?: number; cursor?: string } }
    reply: (Quota)[]
  }
  'GET /v1/users/{user_id}/quotas/{client_id}/status': {
    parts: { path: { user_id: string; client_id: string } }
    reply: Quota
  }
  'GET /v1/users/{user_id}/traffic': {
    parts: { path: { user_id: string }; query: { from: number; to: number; bucket?: '1m' | '1h'; client_id?: string } }
    reply: Traffic
  }
  'PATCH /v1/clients/{client_id}': {
    parts: { path: { client_id: string }; body?: ClientChangeBody }
    reply: Client
  }
  'PATCH /v1/clients/{client_id}/name': {
    parts: { path: { client_id: string }; body: ClientRenameBody }
    reply: Client
  }
  'PATCH /v1/grants/{grant_id}': {
    parts: { path: { grant_id: string }; body?: GrantChangeBody }
    reply: Grant
  }
  'PATCH /v1/rules/{rule_id}': {
    parts: { path: { rule_id: string }; query?: { ack_timeout_secs?: number; existing?: 'keep' | 'drain' | 'cut' }; body?: RulePatch }
    reply: Rule
  }
  'PATCH /v1/users/{user_id}': {
    parts: { path: { user_id: string }; body?: UserUpdateBody }
    reply: User
  }
  'PATCH /v1/users/{user_id}/quotas/{client_id}': {
    parts: { path: { user_id: string; client_id: string }; body?: QuotaUpdateBody }
    reply: Quota
  }
  'POST /v1/apply-checks': {
    parts: { body?: Document }
    reply: undefined
  }
  'POST /v1/apply-leases': {
    reply: ApplyLease
  }
  'POST /v1/auth/login': {
    parts: { body: AuthLoginBody }
    reply: AuthLoginReply
  }
  'POST /v1/auth/logout': {
    reply: undefined
  }
  'POST /v1/auth/onboarding': {
    parts: { body: AuthOnboardBody }
    reply: AuthOnboardReply
  }
  'POST /v1/bans': {
    parts: { body: BanCreateBody }
    reply: BanCreateReply
  }
  'POST /v1/client-enrollments': {
    parts: { body: EnrollmentCreateBody }
    reply: Invitation
  }
  'POST /v1/clients/{client_id}/enrollment': {
    parts: { path: { client_id: string }; body?: EnrollmentRenewBody }
    reply: Invitation
  }
  'POST /v1/clients/{client_id}/revoke': {
    parts: { path: { client_id: string } }
    reply: undefined
  }
  'POST /v1/explain': {
    parts: { body: RuleExplainBody }
    reply: Explanation
  }
  'POST /v1/grants': {
    parts: { body: GrantCreateBody }
    reply: Grant
  }
  'POST /v1/rules': {
    parts: { query?: { ack_timeout_secs?: number }; body: RuleCreate }
    reply: Rule
  }
  'POST /v1/rules/bulk': {
    parts: { query?: { ack_timeout_secs?: number; existing?: 'keep' | 'drain' | 'cut' }; body: BulkChange }
    reply: BulkResult
  }
  'POST /v1/rules/{rule_id}/pause': {
    parts: { path: { rule_id: string }; query?: { ack_timeout_secs?: number; existing?: 'keep' | 'drain' | 'cut' } }
    reply: undefined
  }
  'POST /v1/rules/{rule_id}/resume': {
    parts: { path: { rule_id: string }; query?: { ack_timeout_secs?: number; existing?: 'keep' | 'drain' | 'cut' } }
    reply: undefined
  }
  'POST /v1/users': {
    parts: { body: UserCreateBody }
    reply: User
  }
  'POST /v1/users/me/password': {
    parts: { body: PasswordChangeBody }
    reply: undefined
  }
  'POST /v1/users/{user_id}/credentials': {
    parts: { path: { user_id: string }; body?: CredentialIssueBody }
    reply: IssuedCredential
  }
  'POST /v1/users/{user_id}/credentials/{cred_id}/rotate': {
    parts: { path: { user_id: string; cred_id: string } }
    reply: IssuedCredential
  }
  'POST /v1/users/{user_id}/password': {
    parts: { path: { user_id: string }; body?: PasswordResetBody }
    reply: PasswordResetReply
  }
  'PUT /v1/apply-leases/{lease_id}': {
    parts: { path: { lease_id: string } }
    reply: ApplyLease
  }
  'PUT /v1/clients/{client_id}': {
    parts: { path: { client_id: string }; body: ClientUpdateBody }
    reply: Client
  }
  'PUT /v1/clients/{client_id}/owners/{owner_id}/rate-limit': {
    parts: { path: { client_id: string; owner_id: string }; body?: OwnerRateLimitSetBody }
    reply: OwnerRateLimit
  }
  'PUT /v1/clients/{client_id}/under-attack': {
    parts: { path: { client_id: string }; body?: UnderAttackOnBody }
    reply: UnderAttack
  }
  'PUT /v1/rules/{rule_id}': {
    parts: { path: { rule_id: string }; query?: { ack_timeout_secs?: number }; body?: RuleUpdate }
    reply: Rule
  }
  'PUT /v1/rules/{rule_id}/definition': {
    parts: { path: { rule_id: string }; query?: { ack_timeout_secs?: number }; body: RuleDefinition }
    reply: Rule
  }
  'PUT /v1/settings/advertised-endpoint': {
    parts: { body: SettingsUpdateBody }
    reply: AdvertisedEndpoint
  }
  'PUT /v1/source-lists/{list_name}': {
    parts: { path: { list_name: string }; body: SourceListSetBody }
    reply: SourceList
  }
  'PUT /v1/under-attack': {
    parts: { body?: UnderAttackOnForAllBody }
    reply: UnderAttackOnForAllReply
  }
  'PUT /v1/users/{user_id}/quotas/{client_id}': {
    parts: { path: { user_id: string; client_id: string }; body: QuotaSetBody }
    reply: Quota
  }
}

type AckTimeoutError = (Error) & ({ error?: { code?: 'ack_timeout' } })

type ActivationFailedError = (Error) & ({ error?: { code?: 'activation_failed' } })

type AdvertisedEndpoint = {
  override: string | null
  effective: string | null
  endpoints: (string)[]
  source: 'override' | 'seed' | 'loopback' | null
  diagnostic: string | null
}

type AlreadyBootstrappedError = (Error) & ({ error?: { code?: 'already_bootstrapped' } })

type ApplyInProgressError = (Error) & ({ error?: { code?: 'apply_in_progress' } })

type ApplyLease = {
  lease_id: string
  ttl_secs: number
}

type AuditEntry = {
  id: string
  timestamp: string
  actor: string | null
  role: 'superadmin' | 'user' | null
  auth_method: string
  remote_addr: string | null
  method: string
  path: string
  action: string
  resource_kind: string | null
  resource_id: string | null
  outcome: 'allow' | 'deny'
  status: number | null
  reason: string | null
  changes: ({ field: string; from: unknown; to: unknown })[] | null
  request_id: string
  count: number
}

type AuditPage = {
  entries: (AuditEntry)[]
  next_cursor?: string
  count: number
}

type AuthLoginBody = {
  user_id: string
  password: string
}

type AuthLoginReply = {
  password_change_required: boolean
}

type AuthOnboardBody = {
  user_id: string
  display_name: string
  password: string
  password_confirm: string
  setup_token?: string
}

type AuthOnboardReply = {
  user_id: string
  display_name: string
  role: string
}

type AuthStatusReply = {
  onboarding_required: boolean
}

type Ban = {
  ban_id: string
  source: string
  client_id: string
  client_name: string
  rule_id: string | null
  cause: 'operator' | 'new_connections' | 'failed_handshakes'
  reason: string | null
  made_by: string | null
  times: number
  live: 'cut' | 'keep'
  from: string
  until: string
  state: 'in_force' | 'ended' | 'lifted'
  lifted_by: string | null
}

type BanCreateBody = {
  source: string
  client?: string
  rule_id?: string
  for_secs?: number
  reason?: string
  live?: 'cut' | 'keep'
}

type BanCreateReply = {
  bans: (Ban)[]
}

type BanNotFoundError = (Error) & ({ error?: { code?: 'ban_not_found' } })

type BansUnsupportedByClientError = (Error) & ({ error?: { code?: 'bans_unsupported_by_client' } })

type BodyTooLargeError = (Error) & ({ error?: { code?: 'body_too_large' } })

type BootstrapRequiredError = (Error) & ({ error?: { code?: 'bootstrap_required' } })

type BulkChange = {
  ids?: (string)[]
  selector?: string
  action: 'pause' | 'resume' | 'delete' | 'patch'
  dry_run?: boolean
  atomic?: boolean
  patch?: RulePatch
}

type BulkResult = {
  matched: number
  results: ({ rule_id: string; status: number; error?: { code: string; message: string; details?: Record<string, unknown> } })[]
}

type BusyError = (Error) & ({ error?: { code?: 'busy' } })

type CannotRemoveSelfError = (Error) & ({ error?: { code?: 'cannot_remove_self' } })

type ChangeLastReply = {
  last: number
  pages: string | null
}

type Client = {
  client_id: string
  client_name: string
  address: string | null
  state: 'connected' | 'disconnected' | 'revoked'
  connected: boolean
  remote_addr: string | null
  connected_at: string | null
  last_seen_at: string | null
  agent_version: string | null
  capabilities: Record<string, string> | null
  enrolled_at: string
  revoked_at: string | null
  labels: Record<string, string>
}

type ClientChangeBody = {
  client_name?: string
  address?: string | null
  labels?: Record<string, string | null> | null
}

type ClientNameAmbiguousError = (Error) & ({ error?: { code?: 'client_name_ambiguous' } })

type ClientNotConnectedError = (Error) & ({ error?: { code?: 'client_not_connected' } })

type ClientNotFoundError = (Error) & ({ error?: { code?: 'client_not_found' } })

type ClientNotGrantedError = (Error) & ({ error?: { code?: 'client_not_granted' } })

type ClientNotRevokedError = (Error) & ({ error?: { code?: 'client_not_revoked' } })

type ClientRenameBody = {
  client_name: string
}

type ClientStats = {
  client_id: string
  client_name: string
  bytes_in: number
  bytes_out: number
  active_connections: number
  connections_total: number
  dns_failures: number
  datagrams_in: number
  datagrams_out: number
  active_flows: number
  flows_dropped_overflow: number
  target_failovers: number
  rejected: Record<string, number>
  updated_at: string | null
}

type ClientUpdateBody = {
  client_id?: string
  client_name?: string
  address: string | null
  state?: 'connected' | 'disconnected' | 'revoked'
  connected?: boolean
  remote_addr?: string | null
  connected_at?: string | null
  last_seen_at?: string | null
  agent_version?: string | null
  capabilities?: Record<string, string> | null
  enrolled_at?: string
  revoked_at?: string | null
  labels?: Record<string, string>
}

type ConflictLegacyToSniUnsupportedError = (Error) & ({ error?: { code?: 'conflict.legacy_to_sni_unsupported' } })

type ConflictSniFallbackDuplicateError = (Error) & ({ error?: { code?: 'conflict.sni_fallback_duplicate' } })

type ConflictSniRouteDuplicateError = (Error) & ({ error?: { code?: 'conflict.sni_route_duplicate' } })

type Connection = {
  connection_id: string
  client_id: string
  rule_id: string
  owner: string
  protocol: 'tcp' | 'udp'
  source: string
  listen: string
  target: string | null
  opened_at: string
  bytes_in: number
  bytes_out: number
  idle_secs: number
  rtt_ms: { caller: number | null; target: number | null } | null
  retransmits: { caller: number | null; target: number | null } | null
  held_by: string | null
}

type ConnectionNotFoundError = (Error) & ({ error?: { code?: 'connection_not_found' } })

type ConnectionsClosed = {
  matched: number
  closed: number
}

type ConsolePart = {
  plugin: string
  on: 'page' | 'overview' | 'rule' | 'client'
  name: string | null
  icon: string | null
  title: { en: string; de: string }
  element: string
  module: string
}

type ControlCertificate = {
  fingerprint: string
  source: 'given' | 'self-made'
  subject: string
  names: (string)[]
  not_before: string
  not_after: string
  next: string | null
  waiting: number
  waiting_for: ({ client_id: string; name: string })[]
}

type Credential = {
  credential_id: string
  user_id: string
  label: string
  created_at: string
  last_used_at: string | null
  expires_at: string | null
  revoked_at: string | null
}

type CredentialIssueBody = {
  label?: string
  expires_in_secs?: number
}

type CredentialNotFoundError = (Error) & ({ error?: { code?: 'credential_not_found' } })

type CsrfContentTypeRequiredError = (Error) & ({ error?: { code?: 'csrf_content_type_required' } })

type CsrfHeaderRequiredError = (Error) & ({ error?: { code?: 'csrf_header_required' } })

type CsrfOriginMismatchError = (Error) & ({ error?: { code?: 'csrf_origin_mismatch' } })

type CsrfOriginRequiredError = (Error) & ({ error?: { code?: 'csrf_origin_required' } })

type Document = {
  users?: ({ user_id: string; display_name?: string; role?: 'superadmin' | 'user'; disabled?: boolean; labels?: Record<string, string> })[]
  rules?: ({ client?: string; listen_port: number; listen_port_end?: number | null; protocol?: string; targets: ({ host: string; port: number; priority?: number; weight?: number })[]; prefer_ipv6?: boolean; owner?: string; placed_by?: string; paused?: boolean; rule_id?: string; amplification?: { ratio: number; proven_after?: number } | null; balance?: 'priority' | 'round_robin' | 'weighted' | 'least_connections' | 'source_hash' | 'random_two' | null; slow_connect_ms?: number | null; slow_start_secs?: number | null; source_hash_ipv6_prefix?: number | null; ban?: { new_connections?: number | null; failed_handshakes?: number | null; within_secs?: number | null; for_secs?: number | null; live?: 'cut' | 'keep' } | null; clients?: { ids?: (string)[]; selector?: string } | null; labels?: Record<string, string> | null; health_check_interval_secs?: number | null; proxy_in?: (string)[] | null; proxy_out?: number | null; proxy_out_udp?: 'first' | 'each' | null; rate_limit?: RateLimit | null; not_before?: string | null; expires_at?: string | null; schedule?: { time_zone: string; windows: ({ days: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun')[]; from: string; to: string })[] } | null; at_end?: 'keep' | 'drain' | 'cut' | null; sni_pattern?: string | null; sni_fallback?: boolean | null; allow_sources?: (string)[] | null; deny_sources?: (string)[] | null; source_limit?: { connections?: number | null; new_connections?: number | null; within_secs?: number | null } | null })[]
  grants?: ({ user_id: string; client_id?: string; client?: string; listen_port_start: number; listen_port_end: number; protocols: (string)[]; targets?: (string)[] | null; note?: string | null; labels?: Record<string, string> })[]
  quotas?: ({ user_id: string; client?: string; client_id?: string; monthly_bytes: number; billing_anchor?: number })[]
  owner_limits?: ({ client: string; owner: string; rate_limit: RateLimit })[]
}

type DocumentKind = {
  name: string
  defaults: Record<string, unknown>
  distinguishing: (string)[]
}

type EmptyProtocolSetError = (Error) & ({ error?: { code?: 'empty_protocol_set' } })

type EndpointInvalidError = (Error) & ({ error?: { code?: 'endpoint_invalid' } })

type EndpointNotInCertSanError = (Error) & ({ error?: { code?: 'endpoint_not_in_cert_san' } })

type Enrollment = {
  enrollment_id: string
  client_id: string | null
  client_name: string
  address: string | null
  created_by: string
  created_at: string
  expires_at: string
  labels: Record<string, string>
}

type EnrollmentCreateBody = {
  name: string
  address?: string | null
  ttl_secs?: number
  labels?: Record<string, string>
}

type EnrollmentNotFoundError = (Error) & ({ error?: { code?: 'enrollment_not_found' } })

type EnrollmentRenewBody = {
  ttl_secs?: number
}

type Error = {
  error: { code: string; message: string; details?: Record<string, unknown> }
}

type ExplainStep = {
  kind: string
  id: string
  verdict: 'pass' | 'stop' | 'info'
  reason: string | null
  text: string
}

type ExplainTarget = {
  host: string
  port: number
  priority: number
  address: string | null
  dns_ms: number | null
  dns_age_ms?: number
  connect_ms: number | null
  tls_name?: string
  first_byte_ms?: number
  error?: string
}

type Explanation = {
  outcome: 'forwarded' | 'refused' | 'no_rule' | 'unknown'
  decided_by: { kind: string; id: string; reason: string }
  steps: (ExplainStep)[]
  targets: (ExplainTarget)[]
}

type FieldNotLoadedError = (Error) & ({ error?: { code?: 'field_not_loaded' } })

type Grant = {
  grant_id: string
  user_id: string
  client_id: string
  client_name: string | null
  listen_port_start: number
  listen_port_end: number
  protocols: ('tcp' | 'udp')[]
  targets: (string)[] | null
  note: string | null
  created_at: string
  labels: Record<string, string>
}

type GrantAlreadyExistsError = (Error) & ({ error?: { code?: 'grant_already_exists' } })

type GrantChangeBody = {
  note?: string | null
  labels?: Record<string, string | null> | null
}

type GrantCreateBody = {
  user_id: string
  client_id?: string
  client?: string
  listen_port_start: number
  listen_port_end: number
  protocols: (string)[]
  targets?: (string)[] | null
  note?: string | null
  labels?: Record<string, string>
}

type GrantDeleteReply = {
  grant_id: string
  removed_rule_ids: (string)[]
}

type GrantNotFoundError = (Error) & ({ error?: { code?: 'grant_not_found' } })

type HeadersTooLargeError = (Error) & ({ error?: { code?: 'headers_too_large' } })

type IdempotencyInProgressError = (Error) & ({ error?: { code?: 'idempotency_in_progress' } })

type IdempotencyKeyReusedError = (Error) & ({ error?: { code?: 'idempotency_key_reused' } })

type IdempotencySecretSpentError = (Error) & ({ error?: { code?: 'idempotency_secret_spent' } })

type InitialPasswordRequiredError = (Error) & ({ error?: { code?: 'initial_password_required' } })

type InstallerReadReply = {
  version: string
  script_sha256: string
  machines: (string)[]
}

type InstallerUnavailableError = (Error) & ({ error?: { code?: 'installer_unavailable' } })

type InternalError = (Error) & ({ error?: { code?: 'internal' } })

type InvalidBillingAnchorError = (Error) & ({ error?: { code?: 'invalid_billing_anchor' } })

type InvalidBucketError = (Error) & ({ error?: { code?: 'invalid_bucket' } })

type InvalidClientAddressError = (Error) & ({ error?: { code?: 'invalid_client_address' } })

type InvalidClientNameError = (Error) & ({ error?: { code?: 'invalid_client_name' } })

type InvalidCursorError = (Error) & ({ error?: { code?: 'invalid_cursor' } })

type InvalidDisplayNameError = (Error) & ({ error?: { code?: 'invalid_display_name' } })

type InvalidEnrollmentTtlError = (Error) & ({ error?: { code?: 'invalid_enrollment_ttl' } })

type InvalidJsonError = (Error) & ({ error?: { code?: 'invalid_json' } })

type InvalidLimitError = (Error) & ({ error?: { code?: 'invalid_limit' } })

type InvalidLoginError = (Error) & ({ error?: { code?: 'invalid_login' } })

type InvalidOutcomeError = (Error) & ({ error?: { code?: 'invalid_outcome' } })

type InvalidPasswordResetError = (Error) & ({ error?: { code?: 'invalid_password_reset' } })

type InvalidPortRangeError = (Error) & ({ error?: { code?: 'invalid_port_range' } })

type InvalidQuotaSizeError = (Error) & ({ error?: { code?: 'invalid_quota_size' } })

type InvalidRoleError = (Error) & ({ error?: { code?: 'invalid_role' } })

type InvalidTimeRangeError = (Error) & ({ error?: { code?: 'invalid_time_range' } })

type InvalidTimestampError = (Error) & ({ error?: { code?: 'invalid_timestamp' } })

type InvalidUserIdError = (Error) & ({ error?: { code?: 'invalid_user_id' } })

type Invitation = {
  enrollment_id: string
  client_name: string
  expires_at: string
  command: string
  uri: string
}

type IssuedCredential = {
  credential_id: string
  user_id: string
  token: string
  label: string
  created_at: string
}

type JournalEntry = {
  ts: string
  kind: string
  from: unknown
  to: unknown
  cause: string | null
  request_id: string | null
  details: Record<string, unknown>
}

type LastSuperadminError = (Error) & ({ error?: { code?: 'last_superadmin' } })

type LimitReachedError = (Error) & ({ error?: { code?: 'limit_reached' } })

type LiveConnections = {
  at: string
  matched: number
  bytes_in: number
  bytes_out: number
  clients_answered: number
  clients_silent: number
  clients: ({ client_id: string; client_name: string; state: 'answered' | 'no_answer' | 'disconnected' | 'unsupported'; matched: number | null })[]
  connections: (Connection)[]
}

type Me = {
  user_id: string
  role: 'superadmin' | 'user'
  display_name: string
}

type MultiTargetUnsupportedByClientError = (Error) & ({ error?: { code?: 'multi_target_unsupported_by_client' } })

type NotFoundError = (Error) & ({ error?: { code?: 'not_found' } })

type NotOwnerError = (Error) & ({ error?: { code?: 'not_owner' } })

type OpenapiReadReply = {
  openapi: string
}

type Owner = {
  owner_id: string
  rule_count: number
  has_rate_limit: boolean
}

type OwnerRateLimit = {
  client_id: string
  owner_id: string
  rate_limit: RateLimit
  enforced: boolean
  updated_at: string
}

type OwnerRateLimitNotFoundError = (Error) & ({ error?: { code?: 'owner_rate_limit_not_found' } })

type OwnerRateLimitSetBody = {
  bandwidth_in_bps?: number
  bandwidth_out_bps?: number
  bandwidth_in_burst_bytes?: number
  bandwidth_out_burst_bytes?: number
  concurrent_connections?: number
  new_connections_per_sec?: number
  new_connections_burst?: number
  client_id?: string
  owner_id?: string
  rate_limit?: RateLimit
  enforced?: boolean
  updated_at?: string
}

type PasswordChangeBody = {
  current_password: string
  new_password: string
  new_password_confirm: string
}

type PasswordChangeRequiredError = (Error) & ({ error?: { code?: 'password_change_required' } })

type PasswordMismatchError = (Error) & ({ error?: { code?: 'password_mismatch' } })

type PasswordResetBody = {
  new_password?: string
  temporary?: boolean
  keep_api_tokens?: boolean
}

type PasswordResetReply = {
  user_id: string
  sessions_revoked: number
  api_tokens_revoked: number
  temporary_password?: string
}

type PasswordTooLongError = (Error) & ({ error?: { code?: 'password_too_long' } })

type PasswordTooShortError = (Error) & ({ error?: { code?: 'password_too_short' } })

type PasswordUnchangedError = (Error) & ({ error?: { code?: 'password_unchanged' } })

type Plugin = {
  name: string
  version: string
  description: string
  from: 'built in' | 'external'
  kernel: string
  needs: Record<string, string>
  routes: (string)[]
  commands: (string)[]
  tables: (string)[]
  slots: (string)[]
  fills: (string)[]
  fields: (string)[]
  capabilities: Record<string, string>
  has_agent: boolean
  may: (string)[]
  settings: ({ key: string; description: string; value: unknown; hidden: boolean; is_default: boolean })[]
}

type PortInUseError = (Error) & ({ error?: { code?: 'port_in_use' } })

type PortOutsideGrantError = (Error) & ({ error?: { code?: 'port_outside_grant' } })

type PortStats = {
  listen_port: number
  bytes_in: number
  bytes_out: number
  active_connections: number
  datagrams_in: number
  datagrams_out: number
}

type ProtocolNotGrantedError = (Error) & ({ error?: { code?: 'protocol_not_granted' } })

type Quota = {
  user_id: string
  client_id: string
  client_name: string
  monthly_bytes: number
  billing_anchor: number
  bytes_used: number
  bytes_remaining: number
  period_start: number
  period_end: number
  exhausted: boolean
  exhausted_at: number | null
  enforced: boolean
  created_at: number
  updated_at: number
}

type QuotaBucketOutOfRetentionError = (Error) & ({ error?: { code?: 'quota_bucket_out_of_retention' } })

type QuotaNotFoundError = (Error) & ({ error?: { code?: 'quota_not_found' } })

type QuotaSetBody = {
  user_id?: string
  client_id?: string
  client_name?: string
  monthly_bytes: number
  billing_anchor?: number
  bytes_used?: number
  bytes_remaining?: number
  period_start?: number
  period_end?: number
  exhausted?: boolean
  exhausted_at?: number | null
  enforced?: boolean
  created_at?: number
  updated_at?: number
}

type QuotaUnsupportedByClientError = (Error) & ({ error?: { code?: 'quota_unsupported_by_client' } })

type QuotaUpdateBody = {
  monthly_bytes?: number
  clear_period_usage?: boolean
}

type RateLimit = {
  bandwidth_in_bps?: number
  bandwidth_out_bps?: number
  bandwidth_in_burst_bytes?: number
  bandwidth_out_burst_bytes?: number
  concurrent_connections?: number
  new_connections_per_sec?: number
  new_connections_burst?: number
}

type RateLimitUnsupportedByClientError = (Error) & ({ error?: { code?: 'rate_limit_unsupported_by_client' } })

type RateLimitedError = (Error) & ({ error?: { code?: 'rate_limited' } })

type RequestTimeoutError = (Error) & ({ error?: { code?: 'request_timeout' } })

type ReservedUserIdError = (Error) & ({ error?: { code?: 'reserved_user_id' } })

type ResourceChangedError = (Error) & ({ error?: { code?: 'resource_changed' } })

type RoleRequiredError = (Error) & ({ error?: { code?: 'role_required' } })

type Rule = {
  rule_id: string
  client_id: string | null
  client_name: string | null
  listen_port: number
  listen_port_end: number | null
  protocol: 'tcp' | 'udp'
  targets: (Target)[]
  prefer_ipv6: boolean
  owner: string
  placed_by: string
  paused: boolean
  state: 'pending' | 'active' | 'paused' | 'failed' | 'draining' | 'partial' | 'expired' | 'outside_schedule'
  state_reason: string | null
  created_at: string
  updated_at: string
  state_changed_at: string
  etag: string
  edges: (RuleEdge)[] | null
  amplification: { ratio: number; proven_after?: number } | null
  balance: 'priority' | 'round_robin' | 'weighted' | 'least_connections' | 'source_hash' | 'random_two' | null
  slow_connect_ms: number | null
  slow_start_secs: number | null
  source_hash_ipv6_prefix: number | null
  ban: { new_connections?: number | null; failed_handshakes?: number | null; within_secs?: number | null; for_secs?: number | null; live?: 'cut' | 'keep' } | null
  clients: { ids?: (string)[]; selector?: string } | null
  labels: Record<string, string>
  health_check_interval_secs: number | null
  proxy_in: (string)[] | null
  proxy_out: number | null
  proxy_out_udp: 'first' | 'each'
  rate_limit: RateLimit | null
  not_before: string | null
  expires_at: string | null
  schedule: { time_zone: string; windows: ({ days: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun')[]; from: string; to: string })[] } | null
  at_end: 'keep' | 'drain' | 'cut'
  sni_pattern: string | null
  sni_fallback: boolean
  allow_sources: (string)[] | null
  deny_sources: (string)[] | null
  source_limit: { connections?: number | null; new_connections?: number | null; within_secs?: number | null } | null
}

type RuleCreate = {
  client?: string
  listen_port: number
  protocol?: string
  targets: ({ host: string; port: number; priority?: number; weight?: number })[]
  prefer_ipv6?: boolean
  owner?: string
  placed_by?: string
  paused?: boolean
  listen_port_end?: number | null
  if_offline?: 'refuse' | 'queue'
  amplification?: { ratio: number; proven_after?: number } | null
  balance?: 'priority' | 'round_robin' | 'weighted' | 'least_connections' | 'source_hash' | 'random_two' | null
  slow_connect_ms?: number | null
  slow_start_secs?: number | null
  source_hash_ipv6_prefix?: number | null
  ban?: { new_connections?: number | null; failed_handshakes?: number | null; within_secs?: number | null; for_secs?: number | null; live?: 'cut' | 'keep' } | null
  clients?: { ids?: (string)[]; selector?: string } | null
  labels?: Record<string, string> | null
  health_check_interval_secs?: number | null
  proxy_in?: (string)[] | null
  proxy_out?: number | null
  proxy_out_udp?: 'first' | 'each' | null
  rate_limit?: RateLimit | null
  not_before?: string | null
  expires_at?: string | null
  schedule?: { time_zone: string; windows: ({ days: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun')[]; from: string; to: string })[] } | null
  at_end?: 'keep' | 'drain' | 'cut' | null
  sni_pattern?: string | null
  sni_fallback?: boolean | null
  allow_sources?: (string)[] | null
  deny_sources?: (string)[] | null
  source_limit?: { connections?: number | null; new_connections?: number | null; within_secs?: number | null } | null
}

type RuleDefinition = {
  client?: string
  listen_port: number
  protocol?: string
  targets: ({ host: string; port: number; priority?: number; weight?: number })[]
  prefer_ipv6?: boolean
  owner?: string
  placed_by?: string
  paused?: boolean
  listen_port_end?: number | null
  amplification?: { ratio: number; proven_after?: number } | null
  balance?: 'priority' | 'round_robin' | 'weighted' | 'least_connections' | 'source_hash' | 'random_two' | null
  slow_connect_ms?: number | null
  slow_start_secs?: number | null
  source_hash_ipv6_prefix?: number | null
  ban?: { new_connections?: number | null; failed_handshakes?: number | null; within_secs?: number | null; for_secs?: number | null; live?: 'cut' | 'keep' } | null
  clients?: { ids?: (string)[]; selector?: string } | null
  labels?: Record<string, string> | null
  health_check_interval_secs?: number | null
  proxy_in?: (string)[] | null
  proxy_out?: number | null
  proxy_out_udp?: 'first' | 'each' | null
  rate_limit?: RateLimit | null
  not_before?: string | null
  expires_at?: string | null
  schedule?: { time_zone: string; windows: ({ days: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun')[]; from: string; to: string })[] } | null
  at_end?: 'keep' | 'drain' | 'cut' | null
  sni_pattern?: string | null
  sni_fallback?: boolean | null
  allow_sources?: (string)[] | null
  deny_sources?: (string)[] | null
  source_limit?: { connections?: number | null; new_connections?: number | null; within_secs?: number | null } | null
}

type RuleEdge = {
  client_id: string
  client_name: string
  state: string
  state_reason: string | null
}

type RuleExplainBody = {
  client: string
  port: number
  protocol: 'tcp' | 'udp'
  source?: string
  sni?: string
  probe?: boolean
  dry?: boolean
  test_byte?: boolean
}

type RuleFieldUnsupportedByClientError = (Error) & ({ error?: { code?: 'rule_field_unsupported_by_client' } })

type RuleNotFoundError = (Error) & ({ error?: { code?: 'rule_not_found' } })

type RulePatch = {
  client?: unknown
  listen_port?: number
  protocol?: unknown
  targets?: ({ host: string; port: number; priority?: number; weight?: number; port_end?: unknown; health?: unknown })[]
  owner?: unknown
  placed_by?: string
  listen_port_end?: number | null
  prefer_ipv6?: boolean | null
  paused?: boolean | null
  rule_id?: unknown
  client_id?: unknown
  client_name?: unknown
  state?: unknown
  state_reason?: unknown
  created_at?: unknown
  updated_at?: unknown
  state_changed_at?: unknown
  etag?: unknown
  edges?: unknown
  amplification?: { ratio?: number | null; proven_after?: number | null } | null
  balance?: 'priority' | 'round_robin' | 'weighted' | 'least_connections' | 'source_hash' | 'random_two' | null
  slow_connect_ms?: number | null
  slow_start_secs?: number | null
  source_hash_ipv6_prefix?: number | null
  ban?: { new_connections?: number | null | null; failed_handshakes?: number | null | null; within_secs?: number | null | null; for_secs?: number | null | null; live?: 'cut' | 'keep' | null } | null
  clients?: { ids?: (string)[] | null; selector?: string | null } | null
  labels?: Record<string, string | null> | null
  health_check_interval_secs?: number | null
  proxy_in?: (string)[] | null
  proxy_out?: number | null
  proxy_out_udp?: 'first' | 'each' | null
  rate_limit?: { bandwidth_in_bps?: number | null; bandwidth_out_bps?: number | null; bandwidth_in_burst_bytes?: number | null; bandwidth_out_burst_bytes?: number | null; concurrent_connections?: number | null; new_connections_per_sec?: number | null; new_connections_burst?: number | null } | null
  not_before?: string | null
  expires_at?: string | null
  schedule?: { time_zone?: string | null; windows?: ({ days: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun')[]; from: string; to: string })[] | null } | null
  at_end?: 'keep' | 'drain' | 'cut' | null
  sni_pattern?: string | null
  sni_fallback?: boolean | null
  allow_sources?: (string)[] | null
  deny_sources?: (string)[] | null
  source_limit?: { connections?: number | null | null; new_connections?: number | null | null; within_secs?: number | null | null } | null
}

type RuleShapeNotLoadedError = (Error) & ({ error?: { code?: 'rule_shape_not_loaded' } })

type RuleStats = {
  rule_id: string
  client_id: string | null
  protocol: string
  bytes_in: number
  bytes_out: number
  active_connections: number
  connections_total: number
  dns_failures: number
  datagrams_in: number
  datagrams_out: number
  active_flows: number
  flows_dropped_overflow: number
  target_failovers: number
  rejected: Record<string, number>
  updated_at: string | null
  per_port?: (PortStats)[]
  per_target?: (TargetStats)[]
  per_client?: (ClientStats)[]
}

type RuleUpdate = {
  rule_id?: unknown
  client_id?: unknown
  client_name?: unknown
  listen_port?: number
  listen_port_end?: number | null
  protocol?: string
  targets?: ({ host: string; port: number; priority?: number; weight?: number; port_end?: unknown; health?: unknown })[]
  prefer_ipv6?: boolean
  owner?: string
  placed_by?: string
  paused?: boolean
  state?: unknown
  state_reason?: unknown
  created_at?: unknown
  updated_at?: unknown
  state_changed_at?: unknown
  etag?: unknown
  edges?: unknown
  client?: string
  amplification?: { ratio: number; proven_after?: number } | null
  balance?: 'priority' | 'round_robin' | 'weighted' | 'least_connections' | 'source_hash' | 'random_two' | null
  slow_connect_ms?: number | null
  slow_start_secs?: number | null
  source_hash_ipv6_prefix?: number | null
  ban?: { new_connections?: number | null; failed_handshakes?: number | null; within_secs?: number | null; for_secs?: number | null; live?: 'cut' | 'keep' } | null
  clients?: { ids?: (string)[]; selector?: string } | null
  labels?: Record<string, string> | null
  health_check_interval_secs?: number | null
  proxy_in?: (string)[] | null
  proxy_out?: number | null
  proxy_out_udp?: 'first' | 'each' | null
  rate_limit?: RateLimit | null
  not_before?: string | null
  expires_at?: string | null
  schedule?: { time_zone: string; windows: ({ days: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun')[]; from: string; to: string })[] } | null
  at_end?: 'keep' | 'drain' | 'cut' | null
  sni_pattern?: string | null
  sni_fallback?: boolean | null
  allow_sources?: (string)[] | null
  deny_sources?: (string)[] | null
  source_limit?: { connections?: number | null; new_connections?: number | null; within_secs?: number | null } | null
}

type Server = {
  server_id: string
  version: string
  started_at: string
  last_seen_at: string
  sessions: number
  leader_of: (string)[]
}

type Session = {
  session_id: string
  created_at: string
  last_seen_at: string
  expires_at: string
  remote_addr: string
  current: boolean
}

type SessionNotFoundError = (Error) & ({ error?: { code?: 'session_not_found' } })

type SettingsUpdateBody = {
  override?: string | null
  effective?: string | null
  endpoints?: (string)[]
  source?: 'override' | 'seed' | 'loopback' | null
  diagnostic?: string | null
  advertised_endpoint: string | (string)[] | null
}

type SetupTokenInvalidError = (Error) & ({ error?: { code?: 'setup_token_invalid' } })

type SetupTokenRequiredError = (Error) & ({ error?: { code?: 'setup_token_required' } })

type SniUnsupportedByClientError = (Error) & ({ error?: { code?: 'sni_unsupported_by_client' } })

type SourceList = {
  name: string
  entry_count: number
  rule_count: number
  updated_at: string
  entries: (string)[]
}

type SourceListInUseError = (Error) & ({ error?: { code?: 'source_list_in_use' } })

type SourceListNotFoundError = (Error) & ({ error?: { code?: 'source_list_not_found' } })

type SourceListRow = {
  name: string
  entry_count: number
  rule_count: number
  updated_at: string
}

type SourceListSetBody = {
  entries: (string)[]
}

type StatsSummary = {
  clients: { total: number; connected: number }
  rules: { total: number; active: number; failed: number }
  bytes_in: number
  bytes_out: number
  active_connections: number
}

type StoreOutcomeUnknownError = (Error) & ({ error?: { code?: 'store_outcome_unknown' } })

type StoreUnavailableError = (Error) & ({ error?: { code?: 'store_unavailable' } })

type Target = {
  host: string
  port: number
  port_end: number | null
  priority: number
  weight: number
  health: TargetHealth
}

type TargetFilterUnsupportedByClientError = (Error) & ({ error?: { code?: 'target_filter_unsupported_by_client' } })

type TargetHealth = {
  state: 'healthy' | 'failed' | 'unknown'
  consecutive_failures: number
  last_failure_at: string | null
  last_success_at: string | null
  ejected_until: string | null
  ejected_reason: string | null
}

type TargetNotGrantedError = (Error) & ({ error?: { code?: 'target_not_granted' } })

type TargetStats = {
  host: string
  port: number
  priority: number
  health: 'healthy' | 'failed' | 'unknown'
  bytes_in: number
  bytes_out: number
  connections_total: number
  consecutive_failures: number
}

type Traffic = {
  bucket: '1m' | '1h'
  samples: ({ ts: number; bytes_in: number; bytes_out: number })[]
  total_bytes_in: number
  total_bytes_out: number
}

type UnauthenticatedError = (Error) & ({ error?: { code?: 'unauthenticated' } })

type UnderAttack = {
  client_id: string | null
  client_name: string | null
  reason: string | null
  made_by: string
  from: string
  until: string
  connections: number
  new_connections: number
  within_secs: number
}

type UnderAttackOnBody = {
  for_secs?: number
  reason?: string
  connections?: number
  new_connections?: number
  within_secs?: number
}

type UnderAttackOnForAllBody = {
  for_secs?: number
  reason?: string
  connections?: number
  new_connections?: number
  within_secs?: number
}

type UnderAttackOnForAllReply = {
  under_attack: (UnderAttack)[]
}

type UnderAttackUnsupportedByClientError = (Error) & ({ error?: { code?: 'under_attack_unsupported_by_client' } })

type UnsupportedMediaTypeError = (Error) & ({ error?: { code?: 'unsupported_media_type' } })

type UnsupportedProtocolError = (Error) & ({ error?: { code?: 'unsupported_protocol' } })

type User = {
  user_id: string
  display_name: string
  role: 'superadmin' | 'user'
  disabled: boolean
  created_at: string
  labels: Record<string, string>
  rule_count: number
  password_change_required: boolean
  credential_count: number
  grant_count: number
}

type UserAlreadyExistsError = (Error) & ({ error?: { code?: 'user_already_exists' } })

type UserCreateBody = {
  user_id: string
  display_name: string
  role?: 'superadmin' | 'user'
  labels?: Record<string, string>
  initial_password?: string
  password_change_required?: boolean
}

type UserDeleteReply = {
  user_id: string
  removed_rule_ids: (string)[]
  removed_credential_ids: (string)[]
  removed_grant_ids: (string)[]
}

type UserDisabledError = (Error) & ({ error?: { code?: 'user_disabled' } })

type UserNotFoundError = (Error) & ({ error?: { code?: 'user_not_found' } })

type UserUpdateBody = {
  display_name?: string
  role?: 'superadmin' | 'user'
  disabled?: boolean
  labels?: Record<string, string | null> | null
}

type ValidationAmplificationError = (Error) & ({ error?: { code?: 'validation.amplification' } })

type ValidationBalanceError = (Error) & ({ error?: { code?: 'validation.balance' } })

type ValidationBanError = (Error) & ({ error?: { code?: 'validation.ban' } })

type ValidationBodyEmptyError = (Error) & ({ error?: { code?: 'validation.body_empty' } })

type ValidationClientsError = (Error) & ({ error?: { code?: 'validation.clients' } })

type ValidationConnectionFilterError = (Error) & ({ error?: { code?: 'validation.connection_filter' } })

type ValidationExpiresInPastError = (Error) & ({ error?: { code?: 'validation.expires_in_past' } })

type ValidationGrantTargetError = (Error) & ({ error?: { code?: 'validation.grant_target' } })

type ValidationHealthOnUdpError = (Error) & ({ error?: { code?: 'validation.health_on_udp' } })

type ValidationIdempotencyKeyError = (Error) & ({ error?: { code?: 'validation.idempotency_key' } })

type ValidationLabelsError = (Error) & ({ error?: { code?: 'validation.labels' } })

type ValidationLabelsMissingError = (Error) & ({ error?: { code?: 'validation.labels_missing' } })

type ValidationProtocolError = (Error) & ({ error?: { code?: 'validation.protocol' } })

type ValidationProxyInError = (Error) & ({ error?: { code?: 'validation.proxy_in' } })

type ValidationProxyOutError = (Error) & ({ error?: { code?: 'validation.proxy_out' } })

type ValidationRangeInvalidError = (Error) & ({ error?: { code?: 'validation.range_invalid' } })

type ValidationRangeTooWideError = (Error) & ({ error?: { code?: 'validation.range_too_wide' } })

type ValidationRateLimitBurstWithoutRateError = (Error) & ({ error?: { code?: 'validation.rate_limit_burst_without_rate' } })

type ValidationRateLimitEmptyError = (Error) & ({ error?: { code?: 'validation.rate_limit_empty' } })

type ValidationRateLimitMissingError = (Error) & ({ error?: { code?: 'validation.rate_limit_missing' } })

type ValidationRateLimitRangeError = (Error) & ({ error?: { code?: 'validation.rate_limit_range' } })

type ValidationRuleImmutableFieldError = (Error) & ({ error?: { code?: 'validation.rule_immutable_field' } })

type ValidationScheduleError = (Error) & ({ error?: { code?: 'validation.schedule' } })

type ValidationScheduleMissingError = (Error) & ({ error?: { code?: 'validation.schedule_missing' } })

type ValidationSchemaError = (Error) & ({ error?: { code?: 'validation.schema' } })

type ValidationSelectorError = (Error) & ({ error?: { code?: 'validation.selector' } })

type ValidationSniOnUnsupportedRuleError = (Error) & ({ error?: { code?: 'validation.sni_on_unsupported_rule' } })

type ValidationSniPatternMalformedError = (Error) & ({ error?: { code?: 'validation.sni_pattern_malformed' } })

type ValidationSourceLimitError = (Error) & ({ error?: { code?: 'validation.source_limit' } })

type ValidationSourcesError = (Error) & ({ error?: { code?: 'validation.sources' } })

type ValidationTargetHostError = (Error) & ({ error?: { code?: 'validation.target_host' } })

type ValidationTargetsDuplicateError = (Error) & ({ error?: { code?: 'validation.targets_duplicate' } })

type ValidationTargetsEmptyError = (Error) & ({ error?: { code?: 'validation.targets_empty' } })

type ValidationTargetsTooManyError = (Error) & ({ error?: { code?: 'validation.targets_too_many' } })

type ValidationTimeZoneError = (Error) & ({ error?: { code?: 'validation.time_zone' } })

type ValidationUnknownFieldError = (Error) & ({ error?: { code?: 'validation.unknown_field' } })

type ValidationUnknownParameterError = (Error) & ({ error?: { code?: 'validation.unknown_parameter' } })

type ValidationWeightError = (Error) & ({ error?: { code?: 'validation.weight' } })

import { plural } from '../plural.ts'

export const users = {
  what: 'users',
  add: 'New user',
  empty: 'No users yet.',
  none: 'This user does not exist.',
  id: 'User',
  idHint: 'Up to 32 lowercase letters, digits, - and _, starting with a letter. You cannot change it later.',
  name: 'Display name',
  role: 'Role',
  roles: { superadmin: 'administrator', operator: 'operator', viewer: 'viewer', user: 'user' },
  roleHint:
    'Administrators see and change everything. Operators see everything and manage clients, rules and limits. Viewers see everything. Users create rules within their grants.',
  state: 'State',
  enabled: 'enabled',
  disabled: 'disabled',
  temporary: 'temporary password',
  rules: 'Rules',
  grants: 'Grants',
  created: 'Created',
  signIn: 'Sign-in',
  signIns: {
    temporary: 'Temporary password, shown once',
    chosen: 'Set a password',
    none: 'No password, tokens only'
  },
  password: 'Password',
  passwordHint: 'At least 12 characters',
  mustChange: 'Require a new password at the first sign-in',
  submit: 'Create user',
  createdNotice: (id: string) => `User ${id} created.`,
  disable: 'Disable',
  enable: 'Enable',
  disableTitle: (id: string) => `Disable ${id}?`,
  disableText: 'All sessions end and tokens stop working. Rules keep running.',
  reset: 'Reset password',
  resetTitle: (id: string) => `Reset the password of ${id}?`,
  resetText:
    'All sessions of the user end. You get a temporary password, shown once. The user must change it at the next sign-in, within 24 hours.',
  keepTokens: 'Keep tokens valid',
  resetDone: (sessions: string, tokens: string) => `Sessions ended: ${sessions}. Tokens revoked: ${tokens}.`,
  temporaryPassword: (id: string) => `Temporary password of ${id}`,
  delete: 'Delete user',
  deleteTitle: (id: string) => `Delete ${id}?`,
  deleteText: (rules: string, grants: string, tokens: string) =>
    `This also deletes ${plural(rules, 'rule', 'rules')}, ${plural(grants, 'grant', 'grants')}, ${plural(tokens, 'token', 'tokens')}, and all quotas and limits of the user. Ports of the rules close at once.`,
  audit: 'Activity of this user',
  traffic: 'Traffic',
  sessions: 'Sessions',
  sessionsText:
    'You cannot see the sessions of other users. To end them all, reset the password or disable the user.'
}

export const grants = {
  what: 'grants',
  title: 'Grants',
  add: 'New grant',
  none: {
    superadmin: 'No grants. Administrators do not need any.',
    operator: 'No grants. Operators do not need any.',
    viewer: 'No grants. Viewers create no rules.',
    user: 'No grants yet. Without a grant, this user cannot create rules.'
  },
  emptyOwn: 'You have no grants yet. Ask an administrator for one.',
  client: 'Client',
  everyClient: 'all clients',
  ports: 'Ports',
  first: 'First port',
  last: 'Last port',
  protocols: 'Protocols',
  targets: 'Targets',
  targetsHint:
    'One per line: 10.0.0.0/8, 10.0.0.5:443, db.example:5000-5010. Leave empty to allow all targets.',
  anyTarget: 'all targets',
  note: 'Note',
  submit: 'Create grant',
  createdNotice: 'Grant created.',
  editTitle: 'Edit note and labels',
  name: (client: string, ports: string) => `${client}, ports ${ports}`,
  deleteTitle: (name: string) => `Delete the grant for ${name}?`,
  deleteText: (n: string) =>
    `Rules of this user that no other grant allows are deleted, too (at most ${n}). Their ports close at once.`,
  deleted: (n: string) => `Grant deleted, with ${plural(n, 'rule', 'rules')}.`
}

export const limits = {
  title: 'Limits on a client',
  text: 'Apply to all rules of a user on one client together. Leave empty for no limit.',
  none: 'No limits on this client.',
  set: 'Set limits',
  change: 'Change limits',
  of: (user: string, client: string) => `Limits of ${user} on ${client}`,
  noClients: 'No clients yet.',
  bandwidth_in_bps: 'Bandwidth in, Mbit/s',
  bandwidth_out_bps: 'Bandwidth out, Mbit/s',
  bandwidth_in_burst_bytes: 'Burst in, MB',
  bandwidth_out_burst_bytes: 'Burst out, MB',
  concurrent_connections: 'Concurrent connections',
  new_connections_per_sec: 'New connections per second',
  new_connections_burst: 'Burst of new connections',
  enforced: 'Applied on the client',
  pending: 'Not yet applied on the client',
  remove: 'Remove limits',
  removeTitle: (user: string, client: string) => `Remove the limits of ${user} on ${client}?`,
  removeText: 'Open connections continue without limits.',
  removed: 'Limits removed.'
}

export const tokens = {
  what: 'tokens',
  title: 'Tokens',
  text: 'Bearer tokens for programs and the command line.',
  add: 'Create token',
  empty: 'No tokens yet.',
  label: 'Label',
  labelHint: 'Where you will use it, for example deploy@ci',
  validFor: 'Valid for',
  lifetimes: {
    never: 'no expiration',
    day: '1 day',
    month: '30 days',
    quarter: '90 days',
    year: '1 year'
  },
  issue: 'Create',
  token: 'Token',
  created: 'Created',
  used: 'Last used',
  expires: 'Expires',
  state: 'State',
  states: { valid: 'valid', revoked: 'revoked', expired: 'expired' },
  rotate: 'Rotate',
  rotateTitle: (label: string) => `Rotate the token ${label}?`,
  rotateText: 'The old token stops working at once. Replace it wherever it is used.',
  revoke: 'Revoke',
  revokeTitle: (label: string) => `Revoke the token ${label}?`,
  revokeText: 'Programs that use this token are refused from now on.',
  revoked: 'Token revoked.',
  unnamed: 'unlabeled'
}

export const sessions = {
  what: 'sessions',
  title: 'Sessions',
  empty: 'No sessions. You are signed in with a token.',
  from: 'From',
  began: 'Started',
  seen: 'Last active',
  ends: 'Expires',
  current: 'this session',
  end: 'End',
  endTitle: (from: string) => `End the session from ${from}?`,
  endText: 'That browser must sign in again.',
  ended: 'Session ended.'
}

export const accountPage = {
  who: (id: string, role: string) => `${id}, ${role}`,
  appearance: 'Appearance',
  grants: 'Your grants'
}

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
  kind: 'Kind',
  kinds: { user: 'user', service: 'service account' },
  kindHint:
    'A service account is for programs: it has tokens, but cannot sign in. You cannot change it later.',
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
  roleFrom: (role: string, provider: string) => `${role}, by groups at ${provider}`,
  dropFactors: 'Drop second factors',
  dropFactorsTitle: (id: string) => `Drop the second factors of ${id}?`,
  dropFactorsText:
    'The password alone then opens a session. Make sure that it is the user who asks. If a device was stolen, reset the password too.',
  factorsDropped: (id: string) => `${id} has no second factor any more.`,
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
  exit: 'exit',
  use: 'Allows',
  useHint: 'An exit grant opens no ports: rules on other clients may reach targets through the client.',
  uses: { listen: 'Rules on the client', exit: 'Use as an exit or a relay' },
  entries: 'For rules on',
  entriesHint: 'Clients whose rules may go through this one. None selected: all.',
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
  empty: 'No tokens yet. A token signs in a program or the command line.',
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
  access: 'Access',
  accesses: { all: 'everything that the user may do', read: 'read only', chosen: 'chosen scopes' },
  accessHint:
    'Scopes limit what the token may do. user:write, password:write and credential:write of an administrator lead to full access.',
  scopes: 'Scopes',
  sources: 'Allowed sources',
  sourcesHint: 'Networks from which the token works, one per line: 192.0.2.0/24. Leave empty for all.',
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
  factors: 'Signed in with',
  began: 'Started',
  seen: 'Last active',
  ends: 'Expires',
  current: 'this session',
  end: 'End',
  endTitle: (from: string) => `End the session from ${from}?`,
  endText: 'That browser must sign in again.',
  ended: 'Session ended.'
}

export const identities = {
  what: 'identities',
  title: 'Identities',
  note: 'Accounts at providers with which this user signs in.',
  ownNote: 'Accounts at providers with which you sign in.',
  empty: 'No identities.',
  provider: 'Provider',
  sub: 'Id at the provider',
  subHint: 'The claim “sub” of the user, not the name.',
  added: 'Added',
  used: 'Last used',
  add: 'Add identity',
  addedNotice: 'Identity added.',
  remove: 'Remove',
  removeTitle: (provider: string) => `Remove the identity at ${provider}?`,
  removeText: 'It then no longer opens a session. Sessions that it has opened end, except your own.',
  removed: 'Identity removed.',
  continueWith: (provider: string) => `Continue with ${provider}`
}

export const accountPage = {
  who: (id: string, role: string) => `${id}, ${role}`,
  appearance: 'Appearance',
  grants: 'Your grants'
}

export const factors = {
  password: 'password',
  totp: 'authenticator app',
  recovery_code: 'recovery codes',
  oidc: 'provider',
  mfa: 'second factor at the provider'
}

export const secondFactor = {
  title: 'Second factor',
  none: 'None. The password alone opens a session.',
  noneShort: 'none',
  needed: 'Your account needs a second factor.',
  setUp: 'Set up an authenticator app',
  setUpAnother: 'Set up another app',
  scan: 'Scan this code with an authenticator app on your phone.',
  qrCode: 'QR code for the authenticator app',
  type: 'Or enter this key in the app:',
  back: 'Start over',
  confirm: 'Confirm',
  recoveryCodes: 'Recovery codes. Each signs you in once without the app.',
  renew: 'New recovery codes',
  renewTitle: 'Make new recovery codes?',
  renewText: 'The earlier codes stop working.',
  remove: 'Remove the app',
  removeTitle: 'Remove the authenticator app?',
  removeText: 'The password alone then opens a session. The recovery codes stop working.',
  removed: 'The authenticator app is removed.'
}

export const proofs = {
  password: 'Password',
  totp: 'Code of your authenticator app',
  recovery_code: 'Recovery code'
}

export const confirmation = {
  title: 'Confirm that it is you',
  lead: 'You are then not asked for 15 minutes.'
}

export const device = {
  lead: 'Enter the code that the device or command line shows. You sign it in as yourself.',
  code: 'Code',
  codeHint: 'Eight letters, such as BCDF-GHJK',
  review: 'Continue',
  label: 'Device',
  from: 'Address',
  access: 'Access',
  expires: 'Code expires',
  warning:
    'Approve only a device that you have started yourself just now. Whoever has sent you a link or a code gets your access.',
  approve: 'Approve',
  deny: 'Deny',
  approved: 'The device is signed in. It continues within a few seconds.',
  denied: 'The device is refused.'
}

/** Navigation, sign-in, tables, dialogs and messages that every page uses. */
export const shell = {
  product: 'sluice',
  skip: 'Skip to content',
  pages: {
    overview: 'Overview',
    rules: 'Rules',
    connections: 'Connections',
    clients: 'Clients',
    links: 'Links',
    users: 'Users',
    quotas: 'Quotas',
    traffic: 'Traffic',
    bans: 'Bans',
    sources: 'Source lists',
    notifications: 'Notifications',
    audit: 'Audit log',
    settings: 'Settings',
    plugins: 'Plugins',
    account: 'My account',
    device: 'Sign in a device'
  },
  nav: 'Pages',
  menu: 'Menu',
  notFound: 'Page not found',
  toOverview: 'Back to overview',
  account: (name: string) => `Account of ${name}`,
  changePassword: 'Change password',
  signOut: 'Sign out',
  theme: { title: 'Theme', auto: 'System', light: 'Light', dark: 'Dark' },
  language: 'Language',
  palette: {
    open: 'Search and commands',
    placeholder: 'Search pages, rules, clients and commands …',
    none: 'No results.',
    title: { page: 'Page', help: 'Help' },
    account: 'Account'
  },
  keys: {
    title: 'Keyboard shortcuts',
    search: 'Search this page',
    choose: 'Move through a list',
    go: 'Open the selected entry',
    leave: 'Close',
    next: 'Next control'
  },
  pluginPart: { failed: (title: string, plugin: string) => `${title} (plugin ${plugin}) failed` },
  broken: 'This part of the page failed',
  reload: 'Reload page',
  connectionLost: (age: string) =>
    `The server does not respond. This page shows data from ${age} ago and reconnects automatically.`,
  age: (age: string) => `${age} old`,
  close: 'Close',
  cancel: 'Cancel',
  retry: 'Try again',
  loading: 'Loading',
  copy: 'Copy',
  copied: 'Copied',
  failed: 'Something went wrong',
  request: (id: string) => `Request ${id}`,
  busy: (secs: number) => `Too many requests. Try again in ${secs} s.`,
  changedElsewhere:
    'Somebody else changed this in the meantime. The page now shows the current state. Check it, then try again.',
  refusedByServer: (code: string) => `The server refused this (${code}).`,
  storeUnavailable: 'The server cannot write at the moment. Nothing was changed. Try again in a moment.',
  serverUnreachable:
    'The server does not respond, so the change may or may not be saved. Check the current state before you try again.',

  signIn: {
    title: 'Sign in',
    user: 'User',
    password: 'Password',
    submit: 'Sign in',
    forgotten: 'Forgot your password? Ask an administrator to reset it.'
  },
  setup: {
    title: 'Welcome',
    lead: 'Create the first administrator.',
    user: 'User',
    userHint: 'Lowercase letters, digits, - and _',
    name: 'Display name',
    password: 'Password',
    passwordHint: 'At least 12 characters. Several words work well.',
    again: 'Repeat password',
    mismatch: 'The passwords do not match.',
    token: 'Setup token',
    tokenHint: 'See the server log. The token is valid for 30 minutes; a restart creates a new one.',
    submit: 'Create administrator'
  },
  password: {
    title: 'Choose a new password',
    temporary: 'Your password is temporary. Choose your own to continue.',
    current: 'Current password',
    next: 'New password',
    again: 'Repeat new password',
    submit: 'Change password',
    done: 'Password changed. You are signed out everywhere else.',
    isShort: 'The password needs at least 12 characters.',
    isCommon: 'This password is easy to guess. Choose another, such as several unrelated words.',
    isName: 'The password is a name with little else. Choose another, such as several unrelated words.'
  },

  table: {
    actions: 'Actions',
    search: (what: string) => `Search ${what}`,
    columns: 'Columns',
    sort: 'Sort by',
    more: 'Show more',
    rows: (n: string, all: string) => (n === all ? n : `${n} of ${all}`),
    most: (n: string) => `Showing the first ${n}.`,
    none: 'No results.',
    select: (what: string) => `Select ${what}`,
    selectAll: 'Select all',
    selected: (n: string) => `${n} selected`
  },

  states: {
    active: 'active',
    pending: 'pending',
    paused: 'paused',
    failed: 'failed',
    draining: 'draining',
    partial: 'partial',
    expired: 'expired',
    outside_schedule: 'outside schedule',
    unknown: 'unknown',
    healthy: 'healthy',
    ejected: 'ejected',
    connected: 'connected',
    disconnected: 'disconnected',
    conflict: 'used by two agents',
    revoked: 'revoked',
    unused: 'not in use',
    connecting: 'connecting',
    up: 'up',
    degraded: 'degraded',
    down: 'down'
  },

  form: {
    line: (n: string) => `Line ${n}`,
    default: 'Default',
    labelsExample: 'env=prod',
    invalidJson: 'Enter valid JSON.',
    quantity: (unit: string) => `Write a number with a unit, such as 50 M${unit}`
  },
  chart: {
    waiting: 'Measuring. The chart begins in about 10 s.',
    upTo: (name: string, most: string) => `${name} up to ${most}`
  },
  when: {
    never: 'never',
    zone: (zone: string) =>
      zone === 'UTC' ? 'Times are in UTC.' : `Times are in ${zone}. Hover over a time to see it in UTC.`
  },
  secret: {
    once: 'This is shown only once. Copy it now.',
    done: 'Done'
  },
  editConflict: {
    title: 'Changed by somebody else',
    field: 'Field',
    now: 'Current',
    yours: 'Yours',
    again: 'Save again to replace the current values.'
  },
  actions: (of: string) => `Actions for ${of}`,
  edit: 'Edit',
  save: 'Save',
  delete: 'Delete',
  optional: (label: string) => `${label} (optional)`,
  labels: {
    title: 'Labels',
    hint: 'One per line: env=prod',
    none: 'none'
  },
  deleted: (what: string) => `${what} deleted.`,
  saved: 'Saved.',
  cannotUndo: 'This cannot be undone.',
  number: { connections: (n: string) => `Open connections that will be closed: ${n}`, unknown: 'unknown' }
}

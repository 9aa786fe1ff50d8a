/** Of the operator API that a command speaks to. */
export const originIn = (given: unknown, env: Readonly<Record<string, string | undefined>>): string =>
  String(given ?? env['SVC_SERVER'] ?? 'http://127.0.0.1:7080')

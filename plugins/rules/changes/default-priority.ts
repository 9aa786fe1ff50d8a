/**
 * Returns the priority of targets for which a request gives none; undefined: each has its index. Targets over which
 * connections are spread have one.
 */
export const defaultPriority = ({ balance }: { readonly balance?: unknown }): number | undefined =>
  balance == null || balance === 'priority' ? undefined : 0

/** Returns the default priority of targets: 0 if the rule balances them; undefined: the index of each. */
export const defaultPriority = ({ balance }: { readonly balance?: unknown }): number | undefined =>
  balance == null || balance === 'priority' ? undefined : 0

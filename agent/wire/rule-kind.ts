/** The kind of the managed objects that are rules. */
export const ruleKind = 'rule'

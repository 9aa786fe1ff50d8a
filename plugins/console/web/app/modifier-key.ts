/** The key that makes commands of letters. */
export const modifier = /Mac|iPhone/.test(navigator.userAgent) ? '⌘' : 'Ctrl'

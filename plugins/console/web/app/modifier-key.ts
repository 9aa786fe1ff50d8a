/** Name of the modifier key for shortcuts. */
export const modifierKey = /Mac|iPhone/.test(navigator.userAgent) ? '⌘' : 'Ctrl'

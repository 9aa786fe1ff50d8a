/** Returns the token of a link ORIGIN/#setup=TOKEN. A fragment is sent to no server, and stands in no log. */
export const setupTokenIn = ({ hash }: Pick<Location, 'hash'>): string =>
  new URLSearchParams(hash.slice(1)).get('setup') ?? ''

/** Takes the token out of the address, and of what the browser remembers. */
export const forgetSetupLink = (): void => history.replaceState(null, '', location.pathname)

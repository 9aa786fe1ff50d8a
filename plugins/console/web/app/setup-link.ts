/** Returns the token of a link ORIGIN/#setup=TOKEN. Browsers do not send the fragment, so it is in no log. */
export const setupTokenIn = ({ hash }: Pick<Location, 'hash'>): string =>
  new URLSearchParams(hash.slice(1)).get('setup') ?? ''

/** Removes the token from the address and the browser history. */
export const forgetSetupLink = (): void => history.replaceState(null, '', location.pathname)

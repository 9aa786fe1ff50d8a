import { useMediaQuery } from '@mantine/hooks'

/** True on a page as narrow as a phone, from the first render on. */
export const useNarrow = (): boolean =>
  useMediaQuery('(max-width: 48em)', false, { getInitialValueInEffect: false })

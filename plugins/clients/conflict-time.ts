/** How long a conflict shows. The server sees it again within 90 s, because a refused agent returns every 30 s. */
export const conflictShownMs = 180_000

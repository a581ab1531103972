-- What tables name was looked at as it is spelled only, and some manifests were taken for read that
-- were not: all is read again.

DELETE FROM survey;
